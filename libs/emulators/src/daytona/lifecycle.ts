import type { Timers } from '../kit/timers.js';
import { apiFailure } from './api-failure.js';
import { within } from './within.js';

export type SandboxState =
  | 'creating'
  | 'pending_build'
  | 'building_snapshot'
  | 'restoring'
  | 'starting'
  | 'started'
  | 'stopping'
  | 'stopped'
  | 'archiving'
  | 'archived'
  | 'resizing'
  | 'snapshotting'
  | 'destroying'
  | 'destroyed'
  | 'error'
  | 'build_failed';

export type DesiredState = 'started' | 'stopped' | 'destroyed' | 'archived' | 'resized';

/** A way from one state to another. */
export interface Transition {
  /** The states on the way, each with the milliseconds that it lasts. */
  readonly through: readonly (readonly [state: SandboxState, ms: number])[];
  readonly to: SandboxState;
  readonly desired: DesiredState;
  /** What is done meanwhile; the last state on the way lasts until it is done. */
  readonly act?: () => Promise<void>;
}

/** What can be made to fail. */
export type FailingOperation = 'create' | 'start' | 'stop' | 'snapshot' | 'destroy';

/** How a transition is to end instead. */
export interface PlannedFailure {
  readonly state?: 'error' | 'build_failed';
  readonly reason: string;
  readonly recoverable?: boolean;
}

/** A transition that is under way. */
interface Change {
  done: Promise<void>;
  /** What is done in it. */
  acting: Promise<void>;
  hurry: () => void;
}

/** The state of one sandbox. At most one transition is under way. */
export class Lifecycle {
  #state: SandboxState = 'creating';
  #desired: DesiredState = 'started';
  #change: Change | undefined;
  #failure: PlannedFailure | undefined;

  constructor(
    private readonly timers: Timers,
    private readonly conflictStatus: number,
    /** After each change of the state. */
    private readonly changed: () => void,
  ) {}

  get state(): SandboxState {
    return this.#state;
  }

  get desired(): DesiredState {
    return this.#desired;
  }

  /** Whether a transition is under way. */
  get pending(): boolean {
    return this.#change !== undefined;
  }

  /** Why it is in `error` or `build_failed`. */
  get failure(): PlannedFailure | undefined {
    return this.#state === 'error' || this.#state === 'build_failed' ? this.#failure : undefined;
  }

  /** @throws {ApiFailure} a transition is under way */
  assertQuiet(): void {
    if (this.pending) throw apiFailure(this.conflictStatus, 'Sandbox state change in progress');
  }

  /** Sets it in motion. @throws {ApiFailure} another one is under way, unless its state is one of `over` */
  begin(transition: Transition, failure?: PlannedFailure, over: readonly SandboxState[] = []): void {
    if (!over.includes(this.#state)) this.assertQuiet();
    this.#change?.hurry();
    this.#desired = transition.desired;
    const acting = transition.act?.() ?? Promise.resolve();
    const change: Change = { done: Promise.resolve(), acting, hurry: () => {} };
    this.#change = change;
    change.done = this.#run(transition, change, failure).finally(() => this.#ended(change));
    void change.done.catch((error: unknown) => process.emitWarning(error as Error));
  }

  /** Resolves when no transition is under way any more, or after `maxMs`. */
  async settled(maxMs: number, signal: AbortSignal): Promise<void> {
    if (this.#change) await within(this.#change.done, maxMs, signal);
  }

  /** Waits for what is being done, though not for the delays. */
  async quiet(): Promise<void> {
    await this.#change?.acting.catch(() => {});
  }

  /** Goes through the rest of a transition without waiting. */
  async finish(): Promise<void> {
    if (!this.#change) return;
    const { done, hurry } = this.#change;
    hurry();
    await done;
  }

  async #run({ through, to }: Transition, change: Change, failure: PlannedFailure | undefined): Promise<void> {
    change.acting.catch(() => {});
    let hurried = false;
    for (const [state, ms] of through) {
      if (this.#change !== change) return;
      this.#turn(state);
      if (hurried) continue;
      await new Promise<void>((resolve) => {
        const callOff = this.timers.after(ms, resolve);
        change.hurry = () => {
          hurried = true;
          callOff();
          resolve();
        };
      });
    }
    await change.acting;
    // Another one came over it.
    if (this.#change !== change) return;
    this.#change = undefined;
    this.#failure = failure;
    this.#turn(failure ? (failure.state ?? 'error') : to);
  }

  #ended(change: Change): void {
    if (this.#change === change) this.#change = undefined;
  }

  #turn(state: SandboxState): void {
    this.#state = state;
    this.changed();
  }
}
