import { pause } from '../kit/pause.js';

/**
 * Waits for `done`.
 *
 * @returns its value, or `undefined` after `ms`; `Infinity` waits for ever
 * @throws what `done` throws, or the reason of `signal` once it is aborted
 */
export async function within<T>(done: Promise<T>, ms: number, signal: AbortSignal): Promise<T | undefined> {
  signal.throwIfAborted();
  let cleanUp = () => {};
  const other = new Promise<undefined>((resolve, reject) => {
    const timer = ms === Infinity ? undefined : setTimeout(() => resolve(undefined), ms);
    const abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort);
    cleanUp = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
    };
  });
  return await Promise.race([done, other]).finally(() => cleanUp());
}

/** Waits. @throws the reason of `signal` once it is aborted */
export async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, signal).catch(() => signal.throwIfAborted());
}
