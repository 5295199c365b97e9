import { abortedError } from '#libs/contract';

/** `work`, or `aborted` with effect `none` as soon as the signal fires: for work that has no effect yet. */
export async function untilAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (signal === undefined) return work;
  let onAbort!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(abortedError(signal, 'none'));
    signal.addEventListener('abort', onAbort);
    if (signal.aborted) onAbort();
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
