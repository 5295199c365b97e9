import type { Socket, SocketListener } from './socket.js';

/** What is used of the WebSocket of the package `ws`, which this file must not import. */
export interface WebSocketLike {
  /** 0 connecting, 1 open, 2 closing, 3 closed. */
  readonly readyState: number;
  readonly bufferedAmount: number;
  send(data: string, done: (error?: Error | null) => void): void;
  ping(): void;
  close(code: number, reason: string): void;
  terminate(): void;
  pause(): void;
  resume(): void;
  on(event: 'message', listener: (data: Buffer, isBinary: boolean) => void): unknown;
  on(event: 'pong', listener: () => void): unknown;
  on(event: 'close', listener: (code: number, reason: Buffer) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

const OPEN = 1;
const CLOSED = 3;
/** A closing frame carries 125 bytes, two of which are the code. */
const REASON_BYTES = 123;
const ABNORMAL = 1006;
/** Received at one go. Node reads a busy socket 32 times in a row, and a second of decoding would hold up all others. */
const TURN_BYTES = 64 * 1024;

/**
 * Binds an opened WebSocket to the protocol, synchronously, so that no frame is lost; `transport` is the TCP or TLS
 * socket beneath it. The listener gets every event once and nothing after `closed`, which comes in any case, also if
 * the WebSocket was closing or closed before. Errors are not reported: `ws` closes after each.
 */
export function bindSocket(
  ws: WebSocketLike,
  transport: { readonly bytesRead: number },
  makeListener: (socket: Socket) => SocketListener,
): Socket {
  const socket = new WsSocket(ws, transport);
  const listener = makeListener(socket);
  let closed = false;
  const close = (code: number, reason: string): void => {
    if (closed) return;
    closed = true;
    listener.closed(code, reason);
  };
  ws.on('error', () => {});
  ws.on('message', (data, isBinary) => {
    if (closed) return;
    if (isBinary) listener.binary();
    else listener.text(data.toString());
    socket.received(data.length);
  });
  ws.on('pong', () => {
    if (!closed) listener.pong();
  });
  ws.on('close', (code, reason) => close(code, reason.toString()));
  if (ws.readyState === CLOSED) queueMicrotask(() => close(ABNORMAL, ''));
  return socket;
}

/** A {@link Socket} over a WebSocket of `ws`. No method throws, in any state. */
class WsSocket implements Socket {
  private paused = false;
  private yielding = false;
  private turnBytes = 0;

  constructor(
    private readonly ws: WebSocketLike,
    private readonly transport: { readonly bytesRead: number },
  ) {}

  get bufferedAmount(): number {
    return this.ws.bufferedAmount;
  }

  get bytesRead(): number {
    return this.transport.bytesRead;
  }

  send(text: string, flushed?: () => void): void {
    if (this.ws.readyState !== OPEN) return;
    this.ws.send(text, (error) => {
      if (!error) flushed?.();
    });
  }

  ping(): void {
    if (this.ws.readyState === OPEN) this.ws.ping();
  }

  close(code: number, reason: string): void {
    if (this.ws.readyState !== OPEN) return;
    this.ws.close(code, cutToBytes(reason, REASON_BYTES));
    // The peer's part of the handshake lies behind what a paused socket has not read.
    this.resume();
  }

  terminate(): void {
    this.ws.terminate();
  }

  pause(): void {
    this.paused = true;
    this.ws.pause();
  }

  resume(): void {
    this.paused = false;
    if (!this.yielding) this.ws.resume();
  }

  /** A frame was handled: after {@link TURN_BYTES} other sockets and timers get a turn before the next. */
  received(bytes: number): void {
    this.turnBytes += bytes;
    if (this.turnBytes < TURN_BYTES || this.yielding) return;
    this.turnBytes = 0;
    this.yielding = true;
    this.ws.pause();
    setImmediate(() => {
      this.yielding = false;
      if (!this.paused) this.ws.resume();
    });
  }
}

/** The longest beginning of `text` within `bytes` of UTF-8 that splits no character. */
function cutToBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  if (encoded.length <= bytes) return text;
  let end = bytes;
  while (((encoded[end] as number) & 0xc0) === 0x80) end--;
  return encoded.toString('utf8', 0, end);
}
