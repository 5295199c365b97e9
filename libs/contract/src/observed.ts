import type { CallObserver, ObservedCall } from './call-observer.js';

/** The outcome of `attempt`, with `observer` looking on. */
export function observed<T>(observer: CallObserver, call: ObservedCall, attempt: () => Promise<T>): Promise<T> {
  let outcome: Promise<T> | undefined;
  const work = (): Promise<T> => (outcome ??= attempt());
  try {
    observer.observe(call, work);
  } catch {
    // Whoever looks on has no say in the outcome.
  }
  return work();
}
