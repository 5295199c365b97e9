import { CommandStream, type SandboxFrame } from '#libs/contract';

/** How long an exit waits: what writes to a command that has ended is answered soon. */
const PATIENCE_MS = 2_000;

/**
 * A stream whose exit waits for the answers to what is being written. Both come on ways of their own, and the answer,
 * which says whether the command has taken it, may be the slower one.
 */
export class PatientStream extends CommandStream {
  readonly #writes = new Set<Promise<unknown>>();

  /** `write`, which an exit waits for. */
  during<T>(write: Promise<T>): Promise<T> {
    this.#writes.add(write);
    const settled = (): void => void this.#writes.delete(write);
    write.then(settled, settled);
    return write;
  }

  override frame(frame: SandboxFrame): void {
    if (frame.type !== 'exit' || this.#writes.size === 0) return super.frame(frame);
    void this.#patiently(frame);
    return undefined;
  }

  async #patiently(exit: SandboxFrame): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, PATIENCE_MS);
    });
    await Promise.race([Promise.allSettled(this.#writes), late]);
    clearTimeout(timer);
    super.frame(exit);
  }
}
