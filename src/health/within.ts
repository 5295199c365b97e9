/** No answer came in time. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError';
}

/**
 * What `work` gives. After `timeoutMs` its signal fires and what it still gives is dropped.
 *
 * @throws {TimeoutError} after `timeoutMs`
 */
export async function within<T>(timeoutMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new TimeoutError(`no answer within ${timeoutMs} ms`);
      reject(error);
      abort.abort(error);
    }, timeoutMs);
  });
  try {
    return await Promise.race([work(abort.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}
