import type { SandboxOperation } from './adapter-operations.js';

/** Which call is observed. */
export interface ObservedCall {
  readonly provider: string;
  readonly operation: SandboxOperation;
}

/** Sees every call of an adapter, for spans and metrics; it cannot change one. */
export interface CallObserver {
  /**
   * Called synchronously at the beginning of a call. `work` begins it, once however often it is called, in the async
   * context in which it is called first; its promise settles as the call does, a rejection being a `SandboxError`. A
   * call that this did not begin is begun when it returns. What it throws is dropped.
   */
  observe(call: ObservedCall, work: () => Promise<unknown>): void;
}
