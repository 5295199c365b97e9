/**
 * What the protocol needs of a WebSocket. Whoever owns the real one adapts it, attaches a {@link SocketListener}
 * synchronously and reports every event exactly once; after `closed` nothing more comes.
 */
export interface Socket {
  /** Queues one text frame; `flushed` is called once it left this process, or never after a close. */
  send(text: string, flushed?: () => void): void;
  ping(): void;
  /** Starts the closing handshake. */
  close(code: number, reason: string): void;
  /** Drops the transport at once, without a handshake. */
  terminate(): void;
  /** Stops reading from the transport, so that the peer's writes block. */
  pause(): void;
  resume(): void;
  /** Bytes queued here that the transport has not taken. */
  readonly bufferedAmount: number;
  /** Bytes that the transport has received, ever: the proof of life that no large frame can hide. */
  readonly bytesRead: number;
}

export interface SocketListener {
  text(text: string): void;
  binary(): void;
  pong(): void;
  closed(code: number, reason: string): void;
}
