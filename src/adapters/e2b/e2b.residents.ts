import { Logger } from '@nestjs/common';
import { withinDeadline, type Deadline } from '../common/deadline.js';
import { sandboxPath, type E2bControl } from './e2b.control.js';
import { answerError } from './e2b.errors.js';

/** Of the time to live, how much passes between two looks at a sandbox in which a command is read. */
const BEAT_PART = 2 / 15;
/** A sandbox that was parked here may be woken by others. */
const PARKED_LOOK_MS = 30_000;

/** Something open that must not be while its sandbox is paused. */
export interface Parkable {
  /** Resolves once nothing of it is open any more. */
  park(): Promise<void>;
}

/** Of a sandbox that is meant to be paused, which is asked for once or more. */
class Gate {
  #open = (): void => {};
  #settle = (): void => {};
  readonly opened = new Promise<void>((resolve) => (this.#open = resolve));
  /** Resolves when no pause is under way. */
  settled: Promise<void> = Promise.resolve();
  /** Whether the pause is over and done: from then on a sandbox that runs was woken by others. */
  isPaused = true;

  pausing(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.settled = new Promise<void>((resolve) => (this.#settle = resolve));
  }

  paused(): void {
    this.isPaused = true;
    this.#settle();
  }

  open(): void {
    this.#settle();
    this.#open();
  }
}

interface Resident {
  holds: number;
  readonly open: Set<Parkable>;
  timer?: NodeJS.Timeout | undefined;
  /** Present while the sandbox is meant to be paused. */
  gate?: Gate | undefined;
}

/**
 * What of each sandbox is in use here. While a command is read, its sandbox is kept alive. Before a pause every stream
 * is let go of, since the service would serve those on that nobody reads, and block the process; until the sandbox runs
 * again, whoever reads waits.
 */
export class E2bResidents {
  readonly #control: E2bControl;
  readonly #residents = new Map<string, Resident>();
  readonly #logger = new Logger('E2bAdapter');

  constructor(control: E2bControl) {
    this.#control = control;
  }

  /** Sandboxes that are in use. */
  get size(): number {
    return this.#residents.size;
  }

  /** Streams of all of them that are open. */
  get openStreams(): number {
    return [...this.#residents.values()].reduce((sum, { open }) => sum + open.size, 0);
  }

  /**
   * Keeps a sandbox alive until it is let go of.
   *
   * @param leftMs that it will live on without that, as far as is known
   */
  hold(id: string, leftMs: number): () => void {
    const resident = this.#resident(id);
    resident.holds += 1;
    const beatMs = this.#beatMs;
    if (resident.timer === undefined) this.#schedule(id, resident, leftMs < 2 * beatMs ? 0 : beatMs);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      resident.holds -= 1;
      this.#tidy(id, resident);
    };
  }

  /** `stream` is open in that sandbox, until what comes back is called. */
  add(id: string, stream: Parkable): () => void {
    const resident = this.#resident(id);
    resident.open.add(stream);
    return () => {
      resident.open.delete(stream);
      this.#tidy(id, resident);
    };
  }

  /** The sandbox is about to be paused. Resolves when nothing is open in it. */
  async park(id: string): Promise<void> {
    const resident = this.#resident(id);
    (resident.gate ??= new Gate()).pausing();
    await Promise.all([...resident.open].map((stream) => stream.park()));
  }

  /** The sandbox was paused. */
  parked(id: string): void {
    const resident = this.#residents.get(id);
    if (resident?.gate === undefined) return;
    resident.gate.paused();
    if (resident.holds > 0) this.#schedule(id, resident, PARKED_LOOK_MS);
    this.#tidy(id, resident);
  }

  /** The sandbox runs, or is gone. */
  unpark(id: string): void {
    const resident = this.#residents.get(id);
    if (resident === undefined) return;
    resident.gate?.open();
    resident.gate = undefined;
    if (resident.holds > 0) this.#schedule(id, resident, this.#beatMs);
    this.#tidy(id, resident);
  }

  /** While a pause is under way, which would take along what is opened before it: resolves when it is over. */
  pausing(id: string): Promise<void> | undefined {
    const gate = this.#residents.get(id)?.gate;
    return gate?.isPaused === false ? gate.settled : undefined;
  }

  /** Resolves when the sandbox is not meant to be paused, with whether it was. */
  async ready(id: string): Promise<boolean> {
    const gate = this.#residents.get(id)?.gate;
    await gate?.opened;
    return gate !== undefined;
  }

  get #beatMs(): number {
    return Math.max(500, this.#control.options.ttlSeconds * 1000 * BEAT_PART);
  }

  #resident(id: string): Resident {
    const known = this.#residents.get(id);
    if (known) return known;
    const resident: Resident = { holds: 0, open: new Set() };
    this.#residents.set(id, resident);
    return resident;
  }

  #tidy(id: string, resident: Resident): void {
    if (resident.holds > 0) return;
    clearTimeout(resident.timer);
    resident.timer = undefined;
    if (resident.open.size === 0 && resident.gate?.isPaused !== false) this.#residents.delete(id);
  }

  #schedule(id: string, resident: Resident, delayMs: number): void {
    clearTimeout(resident.timer);
    resident.timer = setTimeout(() => void this.#beat(id, resident), delayMs).unref();
  }

  async #beat(id: string, resident: Resident): Promise<void> {
    try {
      const keep = (deadline: Deadline): Promise<void> => this.#keepAlive(id, resident, deadline);
      await withinDeadline(this.#control.options.timeoutMs, undefined, keep);
    } catch (error) {
      this.#logger.warn(`sandbox ${id} could not be kept alive: ${(error as Error).message}`);
    }
    if (resident.holds === 0) return;
    this.#schedule(id, resident, resident.gate ? Math.min(PARKED_LOOK_MS, this.#beatMs) : this.#beatMs);
  }

  /** Only ever extends: somebody else may have given it longer. One that is paused finds its way by its streams. */
  async #keepAlive(id: string, resident: Resident, deadline: Deadline): Promise<void> {
    const gate = resident.gate?.isPaused ? resident.gate : undefined;
    const sandbox = await this.#control.find(id, deadline);
    if (sandbox?.state !== 'suspended' && gate && gate === resident.gate) this.unpark(id);
    if (sandbox?.state !== 'running') return;
    const { ttlSeconds } = this.#control.options;
    if (sandbox.leftMs !== undefined && sandbox.leftMs > ttlSeconds * 1000 - this.#beatMs / 2) return;
    const answer = await this.#control.sendAgain({
      method: 'POST',
      path: sandboxPath(id, 'timeout'),
      json: { timeout: ttlSeconds },
      deadline,
    });
    // 404: paused or gone since.
    if (!answer.ok && answer.status !== 404) throw answerError(answer);
  }
}
