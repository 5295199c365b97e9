import type { IncomingMessage } from 'node:http';

/** What the emulator saw of one request. It fills while the request goes on. */
export interface Call {
  readonly method: string;
  /** Percent-decoded by nobody: as it was sent, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Lower-case names; without those that carry a credential. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether a header that carries a credential was there. */
  readonly credential: boolean;
  /** Whether it asks for a WebSocket. */
  readonly upgrade: boolean;
  /** Bytes of the body, or of the messages on the WebSocket, that arrived so far. */
  readonly bodyBytes: number;
  /** The body of a request that says it is JSON, once it was read by its handler. */
  readonly json?: unknown;
  /** Status of the answer, 101 for an upgrade; absent while there is none, and when the connection was reset. */
  readonly status?: number;
}

export type WritableCall = { -readonly [K in keyof Call]: Call[K] };

/** Which calls are meant; what is left out matches all. */
export interface CallMatch {
  readonly method?: string;
  /** A string is a pattern as in a route: `:name` stands for one segment, a last `*` for the rest. */
  readonly path?: string | RegExp;
  readonly upgrade?: boolean;
  /** Asked last. */
  readonly where?: (call: Call) => boolean;
}

export function callOf(request: IncomingMessage, credentials: ReadonlySet<string>, upgrade: boolean): WritableCall {
  const [path, query] = splitUrl(request.url ?? '/');
  const headers: Record<string, string> = {};
  let credential = false;
  for (const [name, value] of Object.entries(request.headers)) {
    if (credentials.has(name)) credential = true;
    else headers[name] = Array.isArray(value) ? value.join(', ') : (value ?? '');
  }
  const parameters = new URLSearchParams(query);
  return { method: request.method ?? 'GET', path, query: parameters, headers, credential, upgrade, bodyBytes: 0 };
}

function splitUrl(url: string): [path: string, query: string] {
  const mark = url.indexOf('?');
  return mark === -1 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
}
