import { WebSocket } from 'ws';
import { SandboxError } from '#libs/contract';
import {
  DIAL_PATH,
  PROTOCOL_LIMITS,
  bindSocket,
  type DialQuery,
  type Socket,
  type SocketListener,
} from '#libs/protocol';

/** Where a daemon dials to. */
export interface DialTarget {
  /** Base URL of the platform, http or https. */
  readonly url: string;
  /** @default none is sent */
  readonly token?: string;
}

/** The `cause` of a refused dial. */
export class DialRefused extends Error {
  override readonly name = 'DialRefused';
  constructor(
    /** HTTP status of the refusal. */
    readonly status: number,
  ) {
    super(`the platform answered with HTTP ${status}`);
  }
}

/**
 * Opens a WebSocket as a daemon does. The listener is in place before the first frame.
 *
 * @throws {SandboxError} `denied` with a {@link DialRefused} as cause: the platform answered with HTTP; `unavailable`:
 *   it did not answer
 */
export function dial(
  { url, token }: DialTarget,
  query: DialQuery,
  makeListener: (socket: Socket) => SocketListener,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(dialUrl(url, query), {
      headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
      perMessageDeflate: false,
      maxPayload: PROTOCOL_LIMITS.maxFrameBytes,
    });
    let transport = { bytesRead: 0 };
    ws.on('upgrade', (response) => (transport = response.socket));
    ws.on('unexpected-response', (_request, response) => {
      response.destroy();
      ws.terminate();
      reject(new SandboxError('denied', { cause: new DialRefused(response.statusCode ?? 0) }));
    });
    ws.on('error', (cause) => reject(new SandboxError('unavailable', { effect: 'none', cause })));
    ws.on('open', () => {
      bindSocket(ws, transport, makeListener);
      resolve();
    });
  });
}

function dialUrl(url: string, query: DialQuery): URL {
  const target = new URL(url.replace(/\/+$/, '') + DIAL_PATH);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) target.searchParams.set(name, value);
  return target;
}
