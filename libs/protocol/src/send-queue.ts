import type { Socket } from './socket.js';

/** A frame that is encoded when it is its turn, so that waiting costs no copy of its content. */
export interface QueuedFrame {
  /** The text to send; undefined: nothing after all. */
  encode(): string | undefined;
}

/** Frames in their order, sent only while little waits on the socket. */
export class SendQueue {
  private readonly frames = new Set<QueuedFrame>();
  private pumping = false;

  constructor(
    private readonly socket: Socket,
    /** Bytes on the socket from which on frames wait here. */
    private readonly limitBytes: number,
  ) {}

  get size(): number {
    return this.frames.size;
  }

  /** `frame.encode` may be called before this returns. */
  add(frame: QueuedFrame): void {
    this.frames.add(frame);
    this.pump();
  }

  /** Whether `frame` was still waiting: it will not be sent. */
  remove(frame: QueuedFrame): boolean {
    return this.frames.delete(frame);
  }

  clear(): void {
    this.frames.clear();
  }

  private readonly pump = (): void => {
    if (this.pumping) return;
    this.pumping = true;
    for (const frame of this.frames) {
      if (this.socket.bufferedAmount >= this.limitBytes) break;
      this.frames.delete(frame);
      const text = frame.encode();
      if (text !== undefined) this.socket.send(text, this.pump);
    }
    this.pumping = false;
  };
}
