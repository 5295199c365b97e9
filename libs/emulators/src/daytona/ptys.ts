import type { Machine } from './machine.js';
import { Pty, type PtyRequest } from './pty.js';

/** The terminals of one sandbox. One is there until its shell ends. */
export class Ptys {
  readonly #ptys = new Map<string, Pty>();

  constructor(private readonly machine: Machine) {}

  get all(): readonly Pty[] {
    return [...this.#ptys.values()];
  }

  find(id: string): Pty | undefined {
    return this.#ptys.get(id);
  }

  /** The id has to be free. @throws what keeps it from being started */
  async start(request: PtyRequest): Promise<Pty> {
    const pty = new Pty(request, this.machine, () => {
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
