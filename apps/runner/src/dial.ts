import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { DIAL_PATH, PROTOCOL_LIMITS, type DialQuery } from '#libs/protocol';

export interface DialTarget {
  /** Base URL of the platform, http or https. */
  readonly url: string;
  readonly token: string;
  readonly query: DialQuery;
}

export interface DialLimits {
  /** Until the platform has answered the dial. @default 30 s */
  readonly handshakeMs: number;
  /** Read of a refusal's body. @default 4 KiB, 2 s */
  readonly refusalBytes: number;
  readonly refusalMs: number;
}

const DIAL_LIMITS: DialLimits = Object.freeze({ handshakeMs: 30_000, refusalBytes: 4_096, refusalMs: 2_000 });

/** How a link ended. The socket is closed when this is known. */
export type LinkEnd =
  /** HTTP instead of a WebSocket; `says` is the first line of the body, made harmless. */
  | { readonly kind: 'refused'; readonly status: number; readonly says: string }
  | { readonly kind: 'unreachable'; readonly problem: string }
  | { readonly kind: 'closed'; readonly code: number; readonly reason: string };

const SAYS_CHARS = 200;

/**
 * Dials once and resolves when that socket is closed, however far it came; never rejects. Whoever dials again after
 * it resolved has one socket at most. `onOpen` is called synchronously with the opened WebSocket and the transport
 * beneath it. Redirects are not followed: they would carry the token elsewhere. An abort ends a dial; an opened
 * link is its owner's.
 */
export function dial(
  target: DialTarget,
  onOpen: (ws: WebSocket, transport: { readonly bytesRead: number }) => void,
  signal: AbortSignal,
  limits: DialLimits = DIAL_LIMITS,
): Promise<LinkEnd> {
  return new Promise((resolve) => {
    const ws = new WebSocket(dialUrl(target), {
      headers: { Authorization: `Bearer ${target.token}` },
      perMessageDeflate: false,
      followRedirects: false,
      maxPayload: PROTOCOL_LIMITS.maxFrameBytes,
    });
    let end: LinkEnd | undefined;
    // Before it is cut: a token that lies across the cut would not be recognised.
    const said = (text: string): string => harmless(text.replaceAll(target.token, '[token]'));
    let transport: { readonly bytesRead: number } = { bytesRead: 0 };
    let opened = false;
    const giveUp = (problem: string): void => {
      end ??= { kind: 'unreachable', problem };
      ws.terminate();
    };
    const onAbort = (): void => giveUp('stopped');
    const deadline = setTimeout(() => giveUp('no answer in time'), limits.handshakeMs);
    const answered = (): void => {
      clearTimeout(deadline);
      signal.removeEventListener('abort', onAbort);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();

    ws.on('error', (error: NodeJS.ErrnoException) => {
      if (!opened) end ??= { kind: 'unreachable', problem: error.code ?? harmless(error.message) };
    });
    ws.on('unexpected-response', (_request, response) => {
      readLine(response, limits, (line) => {
        end ??= { kind: 'refused', status: response.statusCode ?? 0, says: said(line) };
        ws.terminate();
      });
    });
    ws.on('upgrade', (response) => {
      transport = response.socket;
    });
    ws.on('open', () => {
      opened = true;
      answered();
      onOpen(ws, transport);
    });
    ws.on('close', (code, reason) => {
      answered();
      resolve(end ?? { kind: 'closed', code, reason: said(reason.toString()) });
    });
  });
}

function dialUrl({ url, query }: DialTarget): URL {
  const dialled = new URL(url.replace(/\/+$/, '') + DIAL_PATH);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) dialled.searchParams.set(name, value);
  return dialled;
}

/** The first line of a body of which little is read, for a short time. Calls `done` once. */
function readLine(
  response: IncomingMessage,
  { refusalBytes, refusalMs }: DialLimits,
  done: (line: string) => void,
): void {
  let text = '';
  let settled = false;
  const settle = (): void => {
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    done(text.slice(0, refusalBytes).split(/[\r\n]/, 1)[0] ?? '');
  };
  const timer = setTimeout(settle, refusalMs);
  response.setEncoding('latin1');
  response.on('data', (chunk: string) => {
    text += chunk;
    if (text.length >= refusalBytes || text.includes('\n')) settle();
  });
  for (const event of ['end', 'close', 'error']) response.on(event, settle);
}

function harmless(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, SAYS_CHARS);
}
