import type { Clock } from './clock.js';
import { CLOSE } from './close-codes.js';
import type { RunnerLink, RunnerRegistry } from './link.js';
import { announce, leaveTheFloor, takeTheFloor } from './presence.js';

export interface RegistrationOptions {
  readonly link: RunnerLink;
  /** What the runner is called in messages. */
  readonly name: string;
  /** Opaque: handed to the registry as it is. */
  readonly meta: unknown;
  readonly registry: RunnerRegistry;
  readonly clock: Clock;
  readonly heartbeatIntervalMs: number;
  readonly probeTimeoutMs: number;
  /** Called once, when the registry has entered the connection and it is still open. */
  readonly onRegistered?: (() => void) | undefined;
  /** Ends the connection, which cannot be registered. */
  readonly refuse: (code: number, reason: string) => void;
  readonly log: (line: string) => void;
}

/** How often a conflict is resolved before the newcomer is sent away. */
const ROUNDS = 3;

/** Enters a connection in the registry and takes it out again; decides who stays when there are two. */
export class Registration {
  /** Calls of the registry that failed. */
  failures = 0;
  /** Settles, never rejects, when the connection has ended and the registry and its host were told so. */
  readonly done: Promise<void>;
  private settleEnd!: () => void;
  private readonly endSeen = new Promise<void>((resolve) => (this.settleEnd = resolve));
  private over = false;
  private replaced = false;
  private tookOver = false;
  private cancelHeartbeat: (() => void) | undefined;

  /** Begins in the next turn, when the owner knows it. */
  constructor(private readonly options: RegistrationOptions) {
    this.done = Promise.resolve().then(() => this.run());
  }

  /** The connection has ended. `replaced`: another one speaks for the runner from here on. Idempotent. */
  end(replaced: boolean): void {
    if (this.over) return;
    this.over = true;
    this.replaced = replaced;
    this.cancelHeartbeat?.();
    this.settleEnd();
  }

  private async run(): Promise<void> {
    const registered = await this.register();
    const online = registered && !this.over;
    if (online) {
      this.options.onRegistered?.();
      this.scheduleHeartbeat();
      void this.announce('online');
    }
    await this.endSeen;
    const { registry, link } = this.options;
    const unregister = (): Promise<boolean> => registry.unregister(link.runnerId, link);
    const removed = registered ? await this.attempt('unregister', unregister) : undefined;
    const spoke = (online || this.tookOver) && !this.replaced;
    // What nobody removed may have been removed by a successor: then the runner is not offline.
    if (spoke && (removed !== false || !(await this.isElsewhere()))) await this.announce('offline');
    leaveTheFloor(registry, link);
  }

  /** Whether the registry may have entered the connection. */
  private async register(): Promise<boolean> {
    const { registry, link, meta, refuse, name, probeTimeoutMs } = this.options;
    try {
      for (let round = 0; !this.over; round++) {
        if ((await registry.register(link.runnerId, link, meta)) === 'ok') return true;
        if (round === ROUNDS) {
          refuse(CLOSE.tryAgainLater, 'the runner could not be registered');
          break;
        }
        const incumbent = await registry.whereis(link.runnerId);
        if (incumbent === link) return true;
        if (incumbent === undefined || this.over) continue;
        const restarted = link.instance !== undefined && incumbent.instance === link.instance;
        if (!restarted && (await incumbent.probe(probeTimeoutMs))) {
          this.giveWay(incumbent);
          refuse(CLOSE.duplicate, `another runner is connected as "${name}"`);
          break;
        }
        if (!this.over) await this.takeOver(incumbent);
      }
      return false;
    } catch (error) {
      this.failed('register', error);
      refuse(CLOSE.tryAgainLater, 'the runner could not be registered');
      // A call that failed may still have done its work.
      return true;
    }
  }

  private async takeOver(incumbent: RunnerLink): Promise<void> {
    const { registry, link } = this.options;
    this.tookOver = true;
    takeTheFloor(registry, link);
    incumbent.close('replaced');
    await this.attempt('unregister', () => registry.unregister(link.runnerId, incumbent));
  }

  /** Another one has taken over what this one tried to: it speaks for the runner. */
  private giveWay(incumbent: RunnerLink): void {
    if (!this.tookOver) return;
    this.tookOver = false;
    takeTheFloor(this.options.registry, incumbent);
  }

  private async isElsewhere(): Promise<boolean> {
    const { registry, link } = this.options;
    const other = await this.attempt('whereis', () => registry.whereis(link.runnerId));
    return other !== undefined && other !== link;
  }

  private async announce(state: 'online' | 'offline'): Promise<void> {
    const { registry, link, meta } = this.options;
    await this.attempt(`presence ${state}`, () => announce(registry, link, state, meta));
  }

  private scheduleHeartbeat(): void {
    const { registry, link, clock, heartbeatIntervalMs } = this.options;
    this.cancelHeartbeat = clock.after(heartbeatIntervalMs, () => {
      this.scheduleHeartbeat();
      void this.attempt('heartbeat', () => registry.heartbeat(link.runnerId, link));
    });
  }

  private async attempt<T>(what: string, call: () => Promise<T>): Promise<T | undefined> {
    try {
      return await call();
    } catch (error) {
      this.failed(what, error);
      return undefined;
    }
  }

  private failed(what: string, error: unknown): void {
    this.failures++;
    // Its message is the host's, and may hold anything: an address with a password in it.
    const said = error instanceof Error ? error.name : typeof error;
    this.options.log(`registry: ${what} of runner ${this.options.link.runnerId} failed: ${said}`);
  }
}
