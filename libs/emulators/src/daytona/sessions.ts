import { DaemonFailure } from './daemon-failure.js';
import type { Machine } from './machine.js';
import { Session } from './session.js';
import type { SessionCommand } from './session-command.js';

/** The sessions of one sandbox. They are known only as long as its daemon runs. */
export class Sessions {
  readonly #sessions = new Map<string, Session>();
  /** Ids of those that are being started. */
  readonly #starting = new Set<string>();

  constructor(private readonly machine: Machine) {}

  get all(): readonly Session[] {
    return [...this.#sessions.values()];
  }

  /** @throws {DaemonFailure} 404 */
  get(id: string): Session {
    const session = this.#sessions.get(id);
    if (!session) throw new DaemonFailure(404, 'session not found');
    return session;
  }

  /** @throws {DaemonFailure} 404 */
  command(sessionId: string, id: string): SessionCommand {
    const command = this.get(sessionId).find(id);
    if (!command) throw new DaemonFailure(404, 'command not found');
    return command;
  }

  /** @throws {DaemonFailure} 400, 409, 500 */
  async create(id: string): Promise<void> {
    if (id === '') throw new DaemonFailure(400, 'sessionId is required', 'INVALID_REQUEST_BODY');
    if (id === 'entrypoint') throw new DaemonFailure(400, 'session id is reserved');
    if (this.#sessions.has(id) || this.#starting.has(id)) throw new DaemonFailure(409, 'session already exists');
    this.#starting.add(id);
    try {
      this.#sessions.set(id, await Session.start(this.machine, id));
    } finally {
      this.#starting.delete(id);
    }
  }

  /** @throws {DaemonFailure} 404 */
  async delete(id: string): Promise<void> {
    const session = this.get(id);
    await session.delete();
    if (this.#sessions.get(id) === session) this.#sessions.delete(id);
  }

  /** The daemon has ended: none is known any more. Their files stay. */
  forget(): void {
    this.#sessions.clear();
  }
}
