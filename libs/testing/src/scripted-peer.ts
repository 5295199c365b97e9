import type { Socket, SocketListener } from '#libs/protocol';

/** A request as it stood on the wire. */
export interface SentRequest {
  readonly id: number;
  readonly op: string;
  readonly [member: string]: unknown;
}

/** For tests of the platform's end: a socket whose peer says what it is told to, in the same turn. */
export class ScriptedPeer implements Socket {
  listener!: SocketListener;
  /** Requests that the peer received, in order. */
  readonly requests: SentRequest[] = [];
  /** What became of the socket, in order: pings, pauses and ends. */
  readonly events: string[] = [];
  bufferedAmount = 0;
  bytesRead = 0;
  /** Answers each request as it comes; otherwise the test answers. */
  onRequest: ((request: SentRequest) => void) | undefined;
  private readonly unflushed: (() => void)[] = [];

  get last(): SentRequest {
    return this.requests.at(-1) as SentRequest;
  }

  /** The requests with this `op`. */
  of(op: string): SentRequest[] {
    return this.requests.filter((request) => request.op === op);
  }

  send(text: string, flushed?: () => void): void {
    const request = JSON.parse(text) as SentRequest;
    this.requests.push(request);
    if (this.bufferedAmount > 0 && flushed) this.unflushed.push(flushed);
    else flushed?.();
    this.onRequest?.(request);
  }

  /** Everything that waits on the socket leaves it. */
  flush(): void {
    this.bufferedAmount = 0;
    for (const flushed of this.unflushed.splice(0)) flushed();
  }

  ping(): void {
    this.events.push('ping');
  }

  close(code: number, reason: string): void {
    this.events.push(`close ${code} ${reason}`);
  }

  terminate(): void {
    this.events.push('terminate');
    this.hangUp(1006, '');
  }

  pause(): void {
    this.events.push('pause');
  }

  resume(): void {
    this.events.push('resume');
  }

  /** The socket has closed. */
  hangUp(code = 1006, reason = ''): void {
    this.listener.closed(code, reason);
  }

  say(frame: object): void {
    this.text(JSON.stringify(frame));
  }

  text(text: string): void {
    this.bytesRead += text.length;
    this.listener.text(text);
  }

  ok(request: SentRequest, result: object = {}): void {
    this.say({ id: request.id, ok: true, result });
  }

  refuse(request: SentRequest, error: string, more: object = {}): void {
    this.say({ id: request.id, ok: false, error, ...more });
  }

  out(stream: 'stdout' | 'stderr', sessionId: string, data: string | Uint8Array, more: object = {}): void {
    this.say({ stream, session_id: sessionId, data: Buffer.from(data).toString('base64'), ...more });
  }

  exit(sessionId: string, code: number, more: object = {}): void {
    this.say({ stream: 'exit', session_id: sessionId, code, ...more });
  }
}
