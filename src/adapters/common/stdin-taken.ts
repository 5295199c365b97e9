import { count } from './journal-parser.js';

/** How the stdin of a command stands: open, ended by a close, or closed by the command. */
export type StdinState = 'open' | 'ended' | 'closed';

const STATES: Readonly<Record<string, StdinState>> = { '-': 'open', e: 'ended', b: 'closed' };

/** What the pump of the shim said last of a session's stdin. */
export class StdinTaken {
  #bytes = 0;
  #state: StdinState | undefined;
  readonly #waiting = new Set<() => void>();

  /** That the pipe of the command took, since it was started and whoever wrote them. */
  get bytes(): number {
    return this.#bytes;
  }

  /** `undefined`: nothing was said yet. */
  get state(): StdinState | undefined {
    return this.#state;
  }

  /** @throws {SandboxError} `provider` / `malformed_frame` */
  tell([bytes, state]: readonly string[]): void {
    this.#bytes = Math.max(this.#bytes, count(bytes));
    // What a slower reader says of it is older.
    if (this.#state === undefined || this.#state === 'open') this.#state = STATES[state ?? ''] ?? 'open';
    for (const wake of this.#waiting) wake();
  }

  /** Resolves once `condition` holds, or with `unless`. */
  async until(condition: () => boolean, unless: Promise<unknown>): Promise<void> {
    if (condition()) return;
    let wake = (): void => {};
    const reached = new Promise<void>((resolve) => {
      wake = () => {
        if (condition()) resolve();
      };
    });
    this.#waiting.add(wake);
    await Promise.race([reached, unless]).finally(() => this.#waiting.delete(wake));
  }
}
