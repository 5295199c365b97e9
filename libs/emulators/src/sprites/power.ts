import type { Processes } from '../kit/processes.js';
import type { Timers } from '../kit/timers.js';
import { pause } from '../kit/pause.js';
import type { SpritesSettings } from './options.js';
import { goingDown } from './refusals.js';

/** `warm` is frozen, `cold` has lost its processes; the disk survives both. */
export type SpriteStatus = 'cold' | 'warm' | 'running';

/** What the machine of a sprite asks of the rest. */
export interface PowerEvents {
  /** Before it wakes; throws a `Refusal` when it may not. */
  admit(): void;
  /** It is paused: connections break. */
  paused(): void;
  /** Its memory is lost: all of its processes are to end. */
  lost(): Promise<void>;
}

/**
 * Whether the machine of a sprite runs. It runs while somebody uses it and for `idleMs` after the last activity; then
 * its processes are frozen (warm), later ended (cold). Only use wakes it.
 */
export class Power {
  #status: SpriteStatus;
  #users = 0;
  #lastActivity = performance.now();
  #cancel: () => void = () => {};
  #changing: Promise<void> = Promise.resolve();
  #gone = false;
  lastRunningAt: Date | undefined;
  lastWarmingAt: Date | undefined;

  constructor(
    private readonly owner: string,
    private readonly processes: Processes,
    private readonly timers: Timers,
    private readonly settings: SpritesSettings,
    private readonly events: PowerEvents,
    private readonly closing: AbortSignal,
  ) {
    this.#status = settings.alternatives.initialStatus;
    if (this.#status === 'running') this.#watch();
  }

  get status(): SpriteStatus {
    return this.#status;
  }

  /** Whether it runs or is on the way there. */
  get up(): boolean {
    return this.#status === 'running' || this.#users > 0;
  }

  /** Wakes it and keeps it running until what is returned is called. @throws {Refusal} 429, 503 */
  async use(): Promise<() => void> {
    if (!this.up) this.events.admit();
    this.#users += 1;
    let used = true;
    const leave = () => {
      if (!used) return;
      used = false;
      this.#users -= 1;
      this.touch();
      if (this.#status === 'running') this.#watch();
    };
    try {
      await this.#change(async () => await this.#wake());
      this.touch();
      return leave;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Something happened that counts as activity. */
  touch(): void {
    this.#lastActivity = performance.now();
  }

  /** Pauses it at once, whoever uses it, as the service does at times. */
  async pause(to: 'warm' | 'cold'): Promise<void> {
    await this.#change(async () => await this.#sleep(to));
  }

  /** No timer fires from here on. */
  end(): void {
    this.#gone = true;
    this.#cancel();
  }

  async #change(change: () => Promise<void>): Promise<void> {
    this.#changing = this.#changing.catch(() => {}).then(change);
    await this.#changing;
  }

  async #wake(): Promise<void> {
    if (this.#status === 'running') return;
    const from = this.#status;
    await pause(this.settings.wakeMs[from], this.closing);
    if (this.#gone) throw goingDown();
    this.lastWarmingAt = new Date();
    if (from === 'warm') await this.processes.signalAll(this.owner, 'SIGCONT');
    this.#status = 'running';
    this.lastRunningAt = new Date();
    this.#watch();
  }

  #watch(): void {
    if (this.#gone) return;
    this.#cancel();
    const leftMs = this.settings.idleMs - (performance.now() - this.#lastActivity);
    this.#cancel = this.timers.after(this.#users > 0 ? this.settings.idleMs : Math.max(1, leftMs), () => {
      const idleMs = performance.now() - this.#lastActivity;
      if (this.#users > 0 || idleMs < this.settings.idleMs) this.#watch();
      else void this.pause('warm').catch(() => {});
    });
  }

  async #sleep(to: 'warm' | 'cold'): Promise<void> {
    if (this.#gone || this.#status === 'cold' || this.#status === to) return;
    this.#cancel();
    this.events.paused();
    this.#status = to;
    if (to === 'warm') {
      await this.processes.signalAll(this.owner, 'SIGSTOP');
      this.#cancel = this.timers.after(this.settings.coldMs, () => void this.pause('cold').catch(() => {}));
    } else await this.events.lost();
  }
}
