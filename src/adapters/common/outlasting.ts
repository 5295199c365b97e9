import { withinDeadline, type Deadline } from './deadline.js';

/**
 * `work` that goes on for up to `graceMs` when `deadline` ends: whoever asked for it no longer waits, but what becomes of
 * it can still be seen to.
 *
 * @throws {SandboxError} that of the deadline, with effect `none`, when it is over already
 */
export async function outlasting<T>(
  deadline: Deadline,
  graceMs: number,
  work: (later: Deadline) => PromiseLike<T>,
): Promise<T> {
  deadline.check();
  const late = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const end = (): void => {
    timer = setTimeout(() => late.abort(), graceMs);
  };
  deadline.signal.addEventListener('abort', end);
  try {
    return await withinDeadline(deadline.leftMs + graceMs, late.signal, work);
  } finally {
    clearTimeout(timer);
    deadline.signal.removeEventListener('abort', end);
  }
}
