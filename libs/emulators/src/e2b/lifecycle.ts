import { Refusal } from '../kit/answer.js';
import { pause } from '../kit/pause.js';
import { Timers } from '../kit/timers.js';
import type { E2bSettings } from './options.js';
import { inTransition, noSuchSandbox, refusal } from './refusals.js';

export type SandboxState = 'running' | 'pausing' | 'paused' | 'resuming' | 'snapshotting' | 'killing' | 'gone';

/** What a change of state does to the machine. */
export interface Machine {
  readonly id: string;
  /** Before it runs: throws a `Refusal` when it may not. */
  admit(): void;
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  endProcesses(): Promise<void>;
  /** Ends and forgets all of it. */
  destroy(): Promise<void>;
}

/** What becomes of a sandbox at the end of its time to live. */
export interface OnTimeout {
  readonly pause: boolean;
  /** Whether that pause keeps memory. */
  readonly memory: boolean;
}

/** Times a connect waits for another change of state before it gives up. */
const MOST_WAITS = 3;
const LEAST_REFRESH_SECONDS = 15;

/** The states of one sandbox and its time to live. */
export class Lifecycle {
  #state: SandboxState = 'running';
  #changing: Promise<unknown> | undefined;
  readonly #timers = new Timers();
  #callOff: () => void = () => {};
  #hurry = new AbortController();
  #pauseBreaks = false;
  #memory = true;
  startedAt = new Date();
  /** When it will end; of a paused one, when it was paused. */
  endAt = this.startedAt;

  constructor(
    private readonly machine: Machine,
    private readonly onTimeout: OnTimeout,
    private readonly settings: E2bSettings,
    private readonly closing: AbortSignal,
  ) {}

  get state(): SandboxState {
    return this.#state;
  }

  /** What is told of it: one that is being paused is paused, one that is being killed is not there any more. */
  get shown(): 'running' | 'paused' | undefined {
    if (this.#state === 'killing' || this.#state === 'gone') return undefined;
    return this.#state === 'running' || this.#state === 'snapshotting' ? 'running' : 'paused';
  }

  /** Whether a disk-only pause lies behind it, so that a resume is a cold boot. */
  get hasMemory(): boolean {
    return this.#memory;
  }

  /** Begins its time to live. */
  begin(timeoutSeconds: number): void {
    this.#expireAt(Date.now() + timeoutSeconds * 1000);
  }

  /** The next pause fails, and the sandbox is lost. */
  breakNextPause(): void {
    this.#pauseBreaks = true;
  }

  /** Goes through the rest of the change that is under way, if one is, without waiting. */
  async finish(): Promise<void> {
    this.#hurry.abort();
    await this.#changed();
  }

  /** No timer fires from here on. */
  end(): void {
    this.#timers.close();
  }

  /** @throws {Refusal} 404 paused or gone, 409 in transition, 400 when no more time may be had */
  setTimeout(seconds: number): void {
    this.mustRun();
    if (Date.now() >= this.#longest) throw refusal(400, 'Max instance length exceeded');
    this.#expireAt(Date.now() + Math.max(0, seconds) * 1000);
  }

  /** Only ever extends. @throws {Refusal} 404, 409 */
  refresh(seconds: number): void {
    this.mustRun();
    this.#extend(Math.max(LEAST_REFRESH_SECONDS, seconds));
  }

  /** @throws {Refusal} 404 paused or gone, `status` in transition */
  mustRun(status: 409 | 404 = 409): void {
    if (this.#state === 'running') return;
    if (this.#state === 'paused' || this.#state === 'gone' || status === 404) throw noSuchSandbox(this.machine.id);
    throw inTransition(this.#state);
  }

  /** Resolves when it is paused; joins a pause that is under way. @throws {Refusal} 404, 409, 500 */
  async pause(memory = true): Promise<void> {
    if (this.#state === 'snapshotting') await this.#changed();
    if (this.#state === 'pausing') return await this.#join();
    if (this.#state === 'gone') throw noSuchSandbox(this.machine.id);
    if (this.#state === 'paused') throw refusal(409, `Sandbox ${this.machine.id} is already paused`);
    if (this.#state !== 'running') throw inTransition(this.#state);
    return await this.#change('pausing', async () => await this.#pause(memory));
  }

  /**
   * Makes it run, and gives it at least so much time.
   *
   * @returns whether it was paused
   * @throws {Refusal} 404, 409, 429
   */
  async connect(timeoutSeconds: number, memory = true): Promise<boolean> {
    for (let waits = 0; this.#state === 'pausing' || this.#state === 'snapshotting'; waits += 1) {
      if (waits === MOST_WAITS) throw inTransition(this.#state);
      await this.#changed();
    }
    if (this.#state === 'gone') throw noSuchSandbox(this.machine.id);
    if (this.#state === 'killing') throw inTransition(this.#state);
    if (this.#state === 'running') {
      this.#extend(timeoutSeconds);
      return false;
    }
    if (this.#state === 'resuming') {
      const conflict = this.settings.alternatives.concurrentConnect === 'conflict';
      if (conflict) throw refusal(409, 'Sandbox is already starting', 'sandbox_start_in_progress');
      await this.#join();
      this.#extend(timeoutSeconds);
      return true;
    }
    this.machine.admit();
    await this.#change('resuming', async () => await this.#resume(timeoutSeconds, memory));
    return true;
  }

  /** @throws {Refusal} 404 */
  async kill(): Promise<void> {
    while (this.#changing && this.#state !== 'killing') await this.#changed();
    if (this.#state === 'killing' || this.#state === 'gone') throw noSuchSandbox(this.machine.id);
    await this.#change('killing', async () => {
      this.#callOff();
      await this.#take(this.settings.delayMs.kill);
      await this.#destroy();
    });
  }

  /** Freezes it, does something, and lets it go on. @throws {Refusal} 404, 409 */
  async snapshot<T>(act: () => Promise<T>): Promise<T> {
    this.mustRun();
    return await this.#change('snapshotting', async () => {
      await this.machine.freeze();
      try {
        await this.#take(this.settings.delayMs.snapshot);
        return await act();
      } finally {
        await this.machine.thaw();
        this.#state = 'running';
      }
    });
  }

  get #longest(): number {
    return this.startedAt.getTime() + this.settings.maxLengthSeconds * 1000;
  }

  async #pause(memory: boolean): Promise<void> {
    this.#callOff();
    await this.machine.freeze();
    await this.#take(this.settings.delayMs.pause);
    if (this.#pauseBreaks) {
      await this.#destroy();
      throw refusal(500, 'Error pausing sandbox');
    }
    this.#memory = memory;
    if (!memory) await this.machine.endProcesses();
    this.endAt = new Date();
    this.#state = 'paused';
  }

  async #resume(timeoutSeconds: number, memory: boolean): Promise<void> {
    try {
      await this.#take(this.settings.delayMs.resume);
      if (!memory) await this.machine.endProcesses();
      await this.machine.thaw();
    } catch (error) {
      this.#state = 'paused';
      throw error;
    }
    this.startedAt = new Date();
    this.#memory = true;
    this.#state = 'running';
    this.begin(timeoutSeconds);
  }

  /** Waits, unless the change is hurried; rejects when the emulator closes. */
  async #take(ms: number): Promise<void> {
    const over = AbortSignal.any([this.#hurry.signal, this.closing]);
    await pause(ms, over).catch(() => this.closing.throwIfAborted());
  }

  async #destroy(): Promise<void> {
    this.#timers.close();
    await this.machine.destroy();
    this.#state = 'gone';
  }

  async #change<T>(state: SandboxState, act: () => Promise<T>): Promise<T> {
    this.#state = state;
    this.#hurry = new AbortController();
    const changing = act();
    this.#changing = changing;
    try {
      return await changing;
    } finally {
      if (this.#changing === changing) this.#changing = undefined;
    }
  }

  /** Waits for the change that is under way, and shares how it went. */
  async #join(): Promise<void> {
    await this.#changing;
  }

  async #changed(): Promise<void> {
    await this.#changing?.catch(() => {});
  }

  #extend(seconds: number): void {
    this.#expireAt(Math.max(this.endAt.getTime(), Date.now() + seconds * 1000));
  }

  #expireAt(time: number): void {
    this.#callOff();
    this.endAt = new Date(Math.min(time, this.#longest));
    // Longer timers of Node fire at once.
    const ms = Math.min(Math.max(0, this.endAt.getTime() - Date.now()), 2 ** 31 - 1);
    this.#callOff = this.#timers.after(ms, () => void this.expire());
  }

  /** Its time is over. */
  async expire(): Promise<void> {
    const { pause: pauses, memory } = this.onTimeout;
    try {
      await (pauses ? this.pause(memory) : this.kill());
    } catch (error) {
      // It was paused or killed already, or the emulator closes.
      if (!(error instanceof Refusal) && !this.closing.aborted) process.emitWarning(error as Error);
    }
  }
}
