import type { SandboxError, SandboxOperation } from '#libs/contract';
import { offline } from './fake-errors.js';

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

/** Which calls fail, in the order in which they were told to. */
export class Faults {
  offline = false;
  readonly #next = new Map<FaultyOperation, Fault[]>();

  add(operation: FaultyOperation, error: SandboxError, { when = 'before', times = 1 }: FaultOptions = {}): void {
    const faults = this.#next.get(operation) ?? [];
    for (let i = 0; i < times; i++) faults.push({ error, when });
    this.#next.set(operation, faults);
  }

  /** Runs one call. @param onLost called with a result whose answer is lost */
  async run<T>(operation: FaultyOperation, work: () => T | Promise<T>, onLost?: (result: T) => unknown): Promise<T> {
    if (this.offline) throw offline();
    const fault = this.#next.get(operation)?.shift();
    if (fault?.when === 'before') throw fault.error;
    const result = await work();
    if (fault === undefined) return result;
    await onLost?.(result);
    throw fault.error;
  }
}
