import type { CallOptions, SandboxError, SandboxOperation } from '#libs/contract';
import type { SessionSink } from '#libs/protocol';
import { offline } from './fake-errors.js';
import { untilAborted } from './until-aborted.js';

/** Operations that can be told to fail. */
export type FaultyOperation = Exclude<SandboxOperation, 'capabilitiesOf'>;

/** When and how often a call fails. */
export interface FaultOptions {
  /** `after`: the call does its work and its answer is lost. Give the error effect `unknown` then. @default 'before' */
  readonly when?: 'before' | 'after';
  /** How many calls fail. @default 1 */
  readonly times?: number;
}

interface Fault {
  readonly error: SandboxError;
  readonly when: 'before' | 'after';
}

/** Which calls fail, in the order in which they were told to, and whether anything is answered. */
export class Faults {
  offline = false;
  /** Calls that have come, failed ones included. */
  calls = 0;
  readonly #next = new Map<FaultyOperation, Fault[]>();
  #stalled: Promise<void> | undefined;

  /** Resolves when there are answers again; `undefined`: there are. */
  get stalled(): Promise<void> | undefined {
    return this.#stalled;
  }

  /** @returns takes back those that have not been met */
  add(operation: FaultyOperation, error: SandboxError, { when = 'before', times = 1 }: FaultOptions = {}): () => void {
    const faults = this.#next.get(operation) ?? [];
    const added = Array.from({ length: times }, (): Fault => ({ error, when }));
    faults.push(...added);
    this.#next.set(operation, faults);
    return () => {
      for (const one of added) if (faults.includes(one)) faults.splice(faults.indexOf(one), 1);
    };
  }

  /** @returns ends it */
  stall(): () => void {
    let end!: () => void;
    const stalled = new Promise<void>((resolve) => (end = resolve));
    this.#stalled = stalled;
    return () => {
      if (this.#stalled === stalled) this.#stalled = undefined;
      end();
    };
  }

  /** Runs one call. @param onLost called with a result whose answer is lost */
  async run<T>(
    operation: FaultyOperation,
    options: CallOptions | undefined,
    work: () => T | Promise<T>,
    onLost?: (result: T) => unknown,
  ): Promise<T> {
    this.calls += 1;
    if (this.offline) throw offline();
    if (this.#stalled) await untilAborted(options?.signal, 'unknown', this.#stalled);
    const fault = this.#next.get(operation)?.shift();
    if (fault?.when === 'before') throw fault.error;
    const result = await work();
    if (fault === undefined) return result;
    await onLost?.(result);
    throw fault.error;
  }

  /** What comes while nothing is answered comes afterwards, in its order. */
  held(sink: SessionSink): SessionSink {
    const waiting: (() => void)[] = [];
    const pass = (deliver: () => void): void => {
      if (waiting.length === 0 && this.#stalled === undefined) return deliver();
      waiting.push(deliver);
      if (waiting.length === 1) void this.#stalled?.then(() => waiting.splice(0).forEach((one) => one()));
    };
    return { frame: (frame) => pass(() => sink.frame(frame)), error: (error) => pass(() => sink.error(error)) };
  }
}
