import type { CallObserver, ObservedCall } from '#libs/contract';

/**
 * Sees every call of every adapter, for spans and metrics; also its own injection token. Where a module makes one
 * available to `SandboxModule`, as a global one does, it is used; without one nothing is observed and nothing is paid.
 * `nestjs-sandbox/otel` has one for OpenTelemetry.
 */
export abstract class SandboxTelemetry implements CallObserver {
  /**
   * Called synchronously at the beginning of a call. `work` begins it, once however often it is called, in the async
   * context in which it is called first; its promise settles as the call does, a rejection being a `SandboxError`.
   * Nothing that happens here changes the call.
   */
  abstract observe(call: ObservedCall, work: () => Promise<unknown>): void;
}
