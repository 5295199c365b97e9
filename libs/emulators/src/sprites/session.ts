import type { Exit } from '#libs/contract/core';
import { ByteTail } from '../kit/byte-tail.js';
import type { EmulatedProcess, OutputStream, ProcessEvents } from '../kit/emulated-process.js';
import type { ExecRequest } from './exec-request.js';
import type { SpritesSettings } from './options.js';

/** Who gets what a session prints. */
export interface SessionClient {
  output(stream: OutputStream, data: Buffer): void;
  /** Resolves when it has room; `undefined` while it has. */
  room(): Promise<void> | undefined;
  /** The process was reaped; output may follow. */
  exited(exit: Exit): void;
  /** After all output. */
  ended(exit: Exit): void;
  /** Cuts its connection. */
  drop(): void;
}

export interface SessionOwner {
  /** Output counts as activity. */
  touch(): void;
  /** It lives on without clients: tells what calls the end of that off. */
  unattended(session: Session): () => void;
  /** From here on it is no session any more, though output may follow. */
  exited(session: Session): void;
}

/** One command of a sprite, from its start to its end; clients come and go. */
export class Session implements ProcessEvents {
  readonly created = new Date();
  lastActivity = this.created;
  readonly #clients = new Set<SessionClient>();
  readonly #tail: ByteTail<OutputStream>;
  #early: ByteTail<OutputStream> | undefined;
  #waiting = 0;
  #process: EmulatedProcess | undefined;
  #exit: Exit | undefined;
  #ended = false;
  #callOff: () => void = () => {};

  constructor(
    readonly request: ExecRequest,
    /** The executable and its arguments, as the list of sessions shows them. */
    readonly command: string,
    /** As the sandbox names it. */
    readonly workdir: string,
    readonly settings: SpritesSettings,
    private readonly owner: SessionOwner,
  ) {
    this.#tail = new ByteTail(settings.alternatives.replayBytes);
    this.#early = new ByteTail(settings.alternatives.earlyOutput === 'lost' ? settings.earlyBytes : Infinity);
  }

  get process(): EmulatedProcess {
    return this.#process!;
  }

  get id(): string {
    return String(this.process.pid);
  }

  get attached(): boolean {
    return this.#clients.size > 0;
  }

  started(process: EmulatedProcess): void {
    this.#process = process;
    this.#pace();
  }

  output(stream: OutputStream, data: Buffer): void {
    const shown = this.settings.alternatives.stderrStream === 'stdout' ? 'stdout' : stream;
    this.lastActivity = new Date();
    this.owner.touch();
    this.#tail.push(shown, data);
    this.#early?.push(shown, data);
    for (const client of this.#clients) client.output(shown, data);
    this.#pace();
  }

  exited(exit: Exit): void {
    this.#callOff();
    this.owner.exited(this);
    for (const client of this.#clients) client.exited(exit);
  }

  ended(exit: Exit): void {
    this.#exit = exit;
    this.#ended = true;
    for (const client of this.#clients) client.ended(exit);
  }

  /**
   * Delivers to a client from here on, after what it has missed: the first one gets what was kept for it, a later one
   * the last bytes.
   *
   * @param replay shapes what a later one gets
   */
  attach(client: SessionClient, replay: (stream: OutputStream, data: Buffer) => void): void {
    this.#callOff();
    const early = this.#early;
    this.#early = undefined;
    if (early) for (const { source, data } of early.pieces) client.output(source, data);
    else for (const { source, data } of this.#tail.pieces) replay(source, data);
    this.#clients.add(client);
    if (this.#exit) {
      client.exited(this.#exit);
      if (this.#ended) client.ended(this.#exit);
    }
    this.#pace();
  }

  /** Called for every client that attached, and for one that never came. */
  detach(client?: SessionClient): void {
    if (client) this.#clients.delete(client);
    if (this.#clients.size > 0 || this.process.exit) return;
    this.#early = undefined;
    this.#callOff();
    this.#callOff = this.owner.unattended(this);
    this.#pace();
  }

  /** Lets the process wait for the slowest client, and for the first one where its output must be kept. */
  #pace(): void {
    if (!this.#process || this.#ended) return;
    const kept = this.#early && this.settings.alternatives.earlyOutput === 'kept';
    if (kept && this.#early!.bytes >= this.settings.earlyBytes) return this.#process.pause();
    for (const client of this.#clients) {
      const room = client.room();
      if (room) void this.#wait(room);
    }
    if (this.#waiting === 0) this.#process.resume();
  }

  async #wait(room: Promise<void>): Promise<void> {
    this.#waiting += 1;
    this.process.pause();
    await room;
    this.#waiting -= 1;
    this.#pace();
  }
}
