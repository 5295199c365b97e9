import { SandboxError, abortedError, collectBytes, invalidArgument, type ByteSource } from '#libs/contract';

/**
 * All of a file's content, before anything is sent.
 *
 * @throws {SandboxError} `invalid` / `request_too_large` beyond `limitBytes`, `invalid` / `argument` when the source
 *   failed, `aborted`; each with effect `none`
 */
export async function gatherContent(
  content: ByteSource,
  limitBytes: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  if (content instanceof Uint8Array) return collectBytes(content, limitBytes);
  const { promise: aborted, dispose } = abortOf(signal);
  try {
    return await Promise.race([collectBytes(until(content, signal), limitBytes), aborted]);
  } catch (error) {
    throw error instanceof SandboxError ? error : invalidArgument('content: its source failed').with({ cause: error });
  } finally {
    dispose();
  }
}

/** Lets the source go at its next piece: one that hangs cannot be let go earlier. */
async function* until(content: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    if (signal?.aborted) return;
    yield piece;
  }
}

/** Rejects when the signal fires. */
function abortOf(signal: AbortSignal | undefined): { promise: Promise<never>; dispose: () => void } {
  let abort = (): void => {};
  const promise = new Promise<never>((_, reject) => {
    abort = () => reject(abortedError(signal as AbortSignal, 'none', 'writeFile'));
  });
  signal?.addEventListener('abort', abort);
  return { promise, dispose: () => signal?.removeEventListener('abort', abort) };
}
