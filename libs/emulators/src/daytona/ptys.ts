import { Pty } from './pty.js';
import type { Sandbox } from './sandbox.js';

/** How a terminal is asked for. */
export interface PtyRequest {
  readonly id: string;
  readonly cwd?: string;
  readonly envs: Readonly<Record<string, string>>;
  readonly cols: number;
  readonly rows: number;
}

/** The terminals of one sandbox. One is there until its shell ends. */
export class Ptys {
  readonly #ptys = new Map<string, Pty>();

  constructor(private readonly sandbox: Sandbox) {}

  get all(): readonly Pty[] {
    return [...this.#ptys.values()];
  }

  find(id: string): Pty | undefined {
    return this.#ptys.get(id);
  }

  /** The id has to be free. @throws what keeps it from being started */
  async start(request: PtyRequest): Promise<Pty> {
    const pty = new Pty(request, this.sandbox, () => {
      if (this.#ptys.get(request.id) === pty) this.#ptys.delete(request.id);
    });
    this.#ptys.set(request.id, pty);
    try {
      await pty.start();
      return pty;
    } catch (error) {
      this.#ptys.delete(request.id);
      throw error;
    }
  }

  /** The daemon has ended. */
  forget(): void {
    for (const pty of this.all) pty.drop();
    this.#ptys.clear();
  }
}
