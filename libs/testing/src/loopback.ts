import type { Socket, SocketListener } from '#libs/protocol';

const PING = Symbol('ping');
const PONG = Symbol('pong');

interface Parcel {
  readonly content:
    string | Uint8Array | typeof PING | typeof PONG | { readonly code: number; readonly reason: string };
  readonly bytes: number;
  readonly flushed?: () => void;
}

const CONTROL_BYTES = 2;

/** Two connected sockets for tests, in memory; see {@link LoopbackSocket}. */
export function loopback(): [LoopbackSocket, LoopbackSocket] {
  const one = new LoopbackSocket();
  const two = new LoopbackSocket();
  one.peer = two;
  two.peer = one;
  return [one, two];
}

/**
 * One end of a pair. One frame is delivered per turn of the event loop and direction, in order; what has not been
 * delivered counts as `bufferedAmount`. Pings are answered as `ws` answers them. A paused or stalled peer takes
 * nothing.
 */
export class LoopbackSocket implements Socket {
  /** Set by {@link loopback}. */
  peer!: LoopbackSocket;
  bufferedAmount = 0;
  bytesRead = 0;
  /** `closing`: only the closing frame is still to go. */
  state: 'open' | 'closing' | 'closed' = 'open';
  /** Frames sent from here, for assertions. */
  readonly sent: string[] = [];

  private listener: SocketListener | undefined;
  /** By the order of sending: much may wait, and an array is slow to give up its first. */
  private readonly queue = new Map<number, Parcel>();
  private queued = 0;
  private delivered = 0;
  private pumping = false;
  private paused = false;
  private stalled = false;

  /** Attaches whoever receives; frames wait until then. */
  listen(listener: SocketListener): void {
    this.listener = listener;
    this.peer.pump();
  }

  send(text: string, flushed?: () => void): void {
    if (this.state === 'open') this.sent.push(text);
    this.put({ content: text, bytes: Buffer.byteLength(text), ...(flushed && { flushed }) });
  }

  /** What no `Socket` can do: for a peer that breaks the rules. */
  sendBinary(data: Uint8Array): void {
    this.put({ content: data, bytes: data.length });
  }

  ping(): void {
    this.put({ content: PING, bytes: CONTROL_BYTES });
  }

  close(code: number, reason: string): void {
    this.put({ content: { code, reason }, bytes: CONTROL_BYTES });
    if (this.state === 'open') this.state = 'closing';
  }

  terminate(): void {
    this.end(1006, '');
    if (!this.stalled) this.peer.end(1006, '');
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    this.peer.pump();
  }

  /** From now on this end takes nothing and answers nothing, and nobody is told: a machine that was switched off. */
  stall(): void {
    this.stalled = true;
    this.peer.stalled = true;
  }

  /** The transport breaks: both ends are told, on their next turn, and what was under way is lost. */
  cut(): void {
    this.end(1006, '');
    this.peer.end(1006, '');
  }

  private put(parcel: Parcel): void {
    if (this.state !== 'open') return;
    this.queue.set(this.queued++, parcel);
    this.bufferedAmount += parcel.bytes;
    this.pump();
  }

  private pump(): void {
    if (this.pumping || this.queue.size === 0) return;
    this.pumping = true;
    setImmediate(() => {
      this.pumping = false;
      const { peer } = this;
      if (this.state === 'closed' || this.stalled || peer.paused || peer.listener === undefined) return;
      const parcel = this.queue.get(this.delivered);
      if (parcel === undefined) return;
      this.queue.delete(this.delivered++);
      this.bufferedAmount -= parcel.bytes;
      parcel.flushed?.();
      peer.receive(parcel);
      this.pump();
    });
  }

  private receive({ content, bytes }: Parcel): void {
    if (this.state === 'closed') return;
    this.bytesRead += bytes;
    if (typeof content === 'string') this.listener?.text(content);
    else if (content instanceof Uint8Array) this.listener?.binary();
    else if (content === PING) this.put({ content: PONG, bytes: CONTROL_BYTES });
    else if (content === PONG) this.listener?.pong();
    else {
      this.end(content.code, content.reason);
      this.peer.end(content.code, content.reason);
    }
  }

  private end(code: number, reason: string): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.queue.clear();
    this.bufferedAmount = 0;
    setImmediate(() => this.listener?.closed(code, reason));
  }
}
