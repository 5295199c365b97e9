import type { Exit } from '#libs/contract/core';
import type { Channel } from '../kit/channel.js';
import type { OutputStream } from '../kit/emulated-process.js';
import type { Timers } from '../kit/timers.js';
import { exitFrame, outputFrames } from './exec-frames.js';
import type { SpritesSettings } from './options.js';
import type { SessionClient } from './session.js';

/** Bytes that may wait for a client before its process has to. */
const FULL = 1024 * 1024;
const ROOM = FULL / 4;

/** A client of a session over a WebSocket. */
export class SocketClient implements SessionClient {
  #room: Promise<void> | undefined;
  #textSent = false;

  constructor(
    readonly channel: Channel,
    private readonly tty: boolean,
    private readonly settings: SpritesSettings,
    private readonly timers: Timers,
  ) {}

  output(stream: OutputStream, data: Buffer): void {
    if (this.tty) this.#send(data);
    else for (const frame of outputFrames(stream, data)) this.#send(frame);
  }

  text(message: Readonly<Record<string, unknown>>): void {
    this.#send(JSON.stringify(message));
  }

  room(): Promise<void> | undefined {
    if (this.#room || this.channel.queuedBytes <= FULL) return undefined;
    const drop = () => this.channel.terminate();
    const dropped = this.settings.alternatives.slowClient === 'dropped';
    const callOff = dropped ? this.timers.after(this.settings.stalledMs, drop) : () => {};
    this.#room = this.channel.room(ROOM).finally(() => {
      callOff();
      this.#room = undefined;
    });
    return this.#room;
  }

  exited(exit: Exit): void {
    if (this.settings.alternatives.textExit === 'at_exit') this.#textExit(exit);
  }

  ended(exit: Exit): void {
    this.#textExit(exit);
    if (this.tty) return this.#settle(this.channel.close(1006));
    this.#send(exitFrame(exit.exitCode));
    this.timers.after(this.settings.lingerMs, () => this.#settle(this.channel.close(1000)));
    return undefined;
  }

  drop(): void {
    this.channel.terminate();
  }

  #textExit({ exitCode }: Exit): void {
    if (!this.#textSent) this.text({ type: 'exit', exit_code: exitCode });
    this.#textSent = true;
  }

  #send(message: Buffer | string): void {
    this.#settle(this.channel.send(message));
  }

  /** What a fault delays ends with the emulator at the latest. */
  #settle(done: void | Promise<void>): void {
    if (done) void done.catch(() => {});
  }
}
