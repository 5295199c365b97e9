import type { Socket, SocketListener } from '#libs/protocol';

/**
 * A socket that can fall silent, as a machine does that was switched off: from then on it takes nothing, answers
 * nothing, sends nothing, and tells nobody. Until then it is the socket beneath it.
 */
export class SilentSocket implements Socket, SocketListener {
  readonly #socket: Socket;
  /** Who receives; set before the first frame can arrive. */
  listener!: SocketListener;
  #silent = false;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  get bufferedAmount(): number {
    return this.#socket.bufferedAmount;
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  /** Pausing keeps the socket from answering pings, which it does by itself. */
  silence(): void {
    this.#silent = true;
    this.#socket.pause();
  }

  /** Drops the transport, silent or not. */
  cut(): void {
    this.#socket.resume();
    this.#socket.terminate();
  }

  send(text: string, flushed?: () => void): void {
    if (!this.#silent) this.#socket.send(text, flushed);
  }

  ping(): void {
    if (!this.#silent) this.#socket.ping();
  }

  close(code: number, reason: string): void {
    if (!this.#silent) this.#socket.close(code, reason);
  }

  terminate(): void {
    if (!this.#silent) this.#socket.terminate();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#silent) this.#socket.resume();
  }

  text(text: string): void {
    if (!this.#silent) this.listener.text(text);
  }

  binary(): void {
    if (!this.#silent) this.listener.binary();
  }

  pong(): void {
    if (!this.#silent) this.listener.pong();
  }

  closed(code: number, reason: string): void {
    this.listener.closed(code, reason);
  }
}
