import { SandboxError, type TerminalSize } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { asObject, parseJson } from '../common/json.js';
import type { ProviderSocket } from '../common/provider-socket.js';
import type { ShProcess } from '../common/sh-process.js';
import type { SpritesClient } from './sprites.client.js';
import { closedBeforeExit } from '../common/journal-errors.js';
import { connectSocket } from './sprites.socket.js';

/** Ids of the frames of a process without a terminal. */
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const EXIT = 3;
const STDIN_EOF = 4;
/** What ends the input of a program that heeds it, on a terminal. */
const END_OF_TRANSMISSION = 4;

const PIECE_BYTES = 64 * 1024;
/** How long after the text that says it has ended, and after what came since, more may come. */
const EXIT_PATIENCE_MS = { terminal: 500, pipe: 5_000 } as const;

/** Where the output of a process goes. On a terminal its end comes with the exit code, where there was one. */
export interface ProcessSink {
  output(data: Uint8Array): void;
  closed(error: SandboxError, exitCode?: number): void;
}

/**
 * A process of a sprite. Without a terminal both output streams of the service are one here: our programs write only to
 * stdout, and the service does not always keep the two apart.
 */
export class SpriteProcess implements ShProcess {
  readonly #sink: ProcessSink;
  readonly #tty: boolean;
  readonly #introduced: Promise<string>;
  #introduce!: (pid: string) => void;
  #fail!: (error: SandboxError) => void;
  #socket: ProviderSocket | undefined;
  #pid = '';
  #exitCode: number | undefined;
  #ending: NodeJS.Timeout | undefined;
  #isOpen = true;
  #letGo: () => void = () => {};
  /** Resolves when nothing more can be written, whichever end it was. */
  readonly whenClosed = new Promise<void>((resolve) => {
    this.#letGo = resolve;
  });

  constructor(sink: ProcessSink, tty: boolean) {
    this.#sink = sink;
    this.#tty = tty;
    this.#introduced = new Promise((resolve, reject) => {
      this.#introduce = resolve;
      this.#fail = reject;
    });
    this.#introduced.catch(() => {});
  }

  /** Whether more can be written. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  get pid(): string {
    return this.#pid;
  }

  async connect(
    client: SpritesClient,
    path: string,
    query: Iterable<readonly [string, string]>,
    deadline: Deadline,
  ): Promise<void> {
    const events = {
      binary: (data: Buffer) => this.#frame(data),
      text: (text: string) => this.#text(text),
      closed: (error: SandboxError) => this.#end(closedBeforeExit(error)),
    };
    this.#socket = await connectSocket(client, path, query, events, deadline);
  }

  /** Resolves when the service said which process it is. */
  async introduced(deadline: Deadline): Promise<void> {
    this.#pid = await deadline.race(this.#introduced, 'unknown');
  }

  async write(data: Uint8Array): Promise<void> {
    for (let at = 0; at < data.byteLength; at += PIECE_BYTES) {
      const piece = data.subarray(at, at + PIECE_BYTES);
      await this.#send(this.#tty ? Buffer.from(piece) : Buffer.concat([Buffer.of(STDIN), piece]));
    }
  }

  closeStdin(): Promise<void> {
    return this.#send(Buffer.of(this.#tty ? END_OF_TRANSMISSION : STDIN_EOF));
  }

  resize({ cols, rows }: TerminalSize): Promise<void> {
    return this.#send(JSON.stringify({ type: 'resize', cols, rows }));
  }

  close(): void {
    this.#isOpen = false;
    this.#letGo();
    clearTimeout(this.#ending);
    this.#socket?.close();
  }

  async #send(data: Buffer | string): Promise<void> {
    if (this.#socket === undefined || !this.#isOpen) throw closedBeforeExit().with({ effect: 'none' });
    await this.#socket.send(data);
  }

  #frame(data: Buffer): void {
    if (!this.#isOpen) return;
    this.#ending?.refresh();
    if (this.#tty) return this.#sink.output(data);
    const payload = data.subarray(1);
    if (data[0] === STDOUT || data[0] === STDERR) this.#sink.output(payload);
    // The record in the output says how it ended; this only says that no more comes.
    else if (data[0] === EXIT) this.#end(closedBeforeExit());
    return undefined;
  }

  #text(text: string): void {
    const { type, session_id: id, exit_code: exitCode } = asObject(parseJson(text)) ?? {};
    if (type === 'session_info') {
      const pid = typeof id === 'number' ? String(id) : id;
      if (typeof pid === 'string' && /^[0-9]{1,20}$/.test(pid)) this.#introduce(pid);
      else this.#end(unreadable());
    } else if (type === 'exit') {
      if (typeof exitCode === 'number' && Number.isInteger(exitCode) && exitCode >= 0 && exitCode <= 255) {
        this.#exitCode = exitCode;
      }
      // The service drops the connection of a terminal after it, and says it again to others; should it not, nothing
      // more is waited for.
      const patienceMs = EXIT_PATIENCE_MS[this.#tty ? 'terminal' : 'pipe'];
      this.#ending ??= setTimeout(() => this.#end(closedBeforeExit()), patienceMs);
    }
  }

  #end(error: SandboxError): void {
    if (!this.#isOpen) return;
    this.close();
    this.#fail(error);
    this.#sink.closed(error, this.#exitCode);
  }
}

function unreadable(): SandboxError {
  return new SandboxError('provider', {
    detail: 'malformed_frame',
    effect: 'unknown',
    message: 'the service did not say which process it started',
  });
}
