import type { Answer } from './answer.js';
import type { CallMatch } from './call.js';

/** One thing that happens on a stream: a frame of a WebSocket, or a chunk of an HTTP body (always binary there). */
export type StreamStep =
  | { readonly data: Buffer; readonly binary: boolean }
  /** Ends the stream: 1006 cuts the connection; over HTTP 1000 is the orderly end and any other code a cut. */
  | { readonly close: number; readonly reason?: string }
  /** What follows waits. */
  | { readonly delayMs: number };

/**
 * What becomes of one step that the emulator is about to take; `index` counts the data steps of this stream from 0.
 * Giving the step back leaves it alone, `[]` drops it. Steps after a `close` are dropped.
 */
export type StreamRewrite = (step: StreamStep, index: number) => readonly StreamStep[];

/** What goes wrong. Of several that hit one request, all apply; of two of a kind the one added first wins. */
export interface FaultEffect {
  /** Answered instead of the emulator's own answer; an upgrade is refused with it. */
  readonly answer?: Answer;
  /** The connection is reset instead of an answer. */
  readonly reset?: boolean;
  /**
   * Whether the request is carried out before `answer` or `reset` hides how it went.
   *
   * @default 'none'
   */
  readonly effect?: 'none' | 'applied';
  /** The answer's headers, or the handshake's, come this much later. `Infinity`: never. */
  readonly delayMs?: number;
  /** Bytes of the body after which the connection is reset. */
  readonly truncateAt?: number;
  /** For streams, both ways of HTTP chunks and WebSocket frames to the client. */
  readonly rewrite?: StreamRewrite;
  /** The server reads nothing from the WebSocket: pings and a Close stay unanswered. */
  readonly deaf?: boolean;
}

/** What goes wrong, and with which requests. */
export interface Fault extends CallMatch, FaultEffect {
  /** The first matching request that it hits, counted from 1. @default 1 */
  readonly nth?: number;
  /** How many it hits from there on. @default 1 */
  readonly times?: number;
}

/** A fault that is switched on. */
export interface InstalledFault {
  /** Requests it has hit so far. */
  readonly hits: number;
  remove(): void;
}
