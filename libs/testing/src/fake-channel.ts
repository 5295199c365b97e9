import type { CommandChannel, TerminalSize } from '#libs/contract';
import { stdinRefused } from './fake-errors.js';
import type { Faults } from './faults.js';
import { STOP_GRACE_MS, type ScriptedSession } from './scripted-session.js';
import type { SessionReader } from './session-reader.js';

/** The way back from one command to its session. */
export class FakeChannel implements CommandChannel {
  readonly #session: ScriptedSession;
  readonly #reader: SessionReader;
  readonly #faults: Faults;

  constructor(session: ScriptedSession, reader: SessionReader, ownsStdin: boolean, faults: Faults) {
    this.#session = session;
    this.#reader = reader;
    this.#faults = faults;
    if (ownsStdin) session.stdinOwner = reader;
  }

  taken(bytes: number): void {
    this.#reader.taken(bytes);
  }

  async write(data: Uint8Array): Promise<void> {
    if (this.#faults.stalled) await this.#faults.stalled;
    this.#checkOwner();
    await this.#session.write(data);
  }

  async closeStdin(): Promise<void> {
    if (this.#faults.stalled) await this.#faults.stalled;
    this.#checkOwner();
    await this.#session.stdin.close();
  }

  async resize(size: TerminalSize): Promise<void> {
    if (this.#faults.stalled) await this.#faults.stalled;
    this.#session.resize(size);
  }

  /** What must not outlive its readers is stopped with the last of them. */
  async stop(): Promise<void> {
    if (this.#faults.stalled) await this.#faults.stalled;
    this.#reader.leave();
    const { detachable, output } = this.#session;
    if (!detachable && output.readers === 0) void this.#session.stop(STOP_GRACE_MS);
  }

  #checkOwner(): void {
    if (this.#session.stdinOwner !== this.#reader) {
      throw stdinRefused('stdin_not_open', 'a newer attach took over stdin of this command');
    }
  }
}
