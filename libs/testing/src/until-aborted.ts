import { abortedError, type SandboxEffect } from '#libs/contract';

/** `work`, or `aborted` as soon as the signal fires. @param effect what is known of the work then */
export async function untilAborted<T>(
  signal: AbortSignal | undefined,
  effect: SandboxEffect,
  work: Promise<T>,
): Promise<T> {
  if (signal === undefined) return work;
  let onAbort!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(abortedError(signal, effect));
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

/** The pieces of `content` until the signal fires: then no more is asked for, and the content is let go of. */
export async function* whileWanted(
  signal: AbortSignal,
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of content) {
    if (signal.aborted) return;
    yield piece;
  }
}
