import { isAscii } from 'node:buffer';
import { ByteCollector, SandboxError, type SandboxEffect } from '#libs/contract';
import type { Deadline } from './deadline.js';
import { parseJson } from './json.js';
import { transportError } from './transport-error.js';

/** The most that an answer may hold unless the request says otherwise. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
/** What is read of an answer that is no success: its status counts, and a page of a gateway may have any length. */
const MAX_FAILURE_BYTES = 64 * 1024;

export interface HttpRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  /** Below the base URL, each segment encoded. */
  readonly path: string;
  readonly query?: Iterable<readonly [name: string, value: string]>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer> | string;
  /** The body as JSON, and its content type. */
  readonly json?: object;
  readonly deadline: Deadline;
  /** A longer success is `provider` / `malformed_reply`. @default 8 MiB */
  readonly maxBytes?: number;
  /**
   * A success is what users keep, of any length: a longer one is `truncated`, and one that was perhaps cut is no answer.
   *
   * @default false
   */
  readonly isContent?: boolean;
}

/** An answer, whatever its status: a success whole, of anything else the first 64 KiB. */
export class HttpAnswer {
  constructor(
    readonly status: number,
    readonly headers: Headers,
    readonly body: Uint8Array,
    /** What earlier attempts at the same request may have done. */
    readonly earlier: SandboxEffect = 'none',
  ) {}

  /** As the answer to the last of several attempts. */
  after(earlier: SandboxEffect): HttpAnswer {
    return new HttpAnswer(this.status, this.headers, this.body, earlier);
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  text(): string {
    const body = Buffer.from(this.body.buffer, this.body.byteOffset, this.body.byteLength);
    // The same of ASCII, which long answers are, and far cheaper.
    return body.toString(isAscii(body) ? 'latin1' : 'utf8');
  }

  /** `undefined`: not JSON. */
  json(): unknown {
    return parseJson(this.text());
  }
}

/**
 * Requests to one host. Redirects are never followed: they come back as answers, so that no credential goes elsewhere.
 * Connections are reused; a request that is given up closes its own, so that a late answer reaches nobody.
 */
export class HttpClient {
  readonly #base: URL;
  readonly #headers: () => Readonly<Record<string, string>>;

  /**
   * @param baseUrl may have a path, with or without a slash at its end
   * @param headers of every request; called for each
   */
  constructor(baseUrl: string, headers: () => Readonly<Record<string, string>>) {
    this.#base = new URL(baseUrl);
    this.#headers = headers;
  }

  /** Where a request goes to. */
  url(path: string, query: HttpRequest['query'] = []): URL {
    const url = new URL(this.#base);
    url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`;
    url.search = new URLSearchParams([...query].map(([name, value]) => [name, value] as [string, string])).toString();
    url.hash = '';
    return url;
  }

  /** {@link url} of a WebSocket. */
  socketUrl(path: string, query?: HttpRequest['query']): URL {
    const url = this.url(path, query);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    return url;
  }

  /**
   * The answer as it begins. Its body has no deadline: whoever asked reads it to its end, or aborts `life`.
   *
   * @throws {SandboxError} `unavailable` without an answer; `aborted`
   */
  async open(request: Omit<HttpRequest, 'maxBytes'>, life: AbortController): Promise<Response> {
    const { deadline } = request;
    const giveUp = (): void => life.abort();
    deadline.check();
    deadline.signal.addEventListener('abort', giveUp);
    try {
      return await this.#fetch(request, life.signal);
    } catch (error) {
      if (error instanceof SandboxError) throw error;
      throw deadline.signal.aborted ? deadline.error('unknown') : transportError(error);
    } finally {
      deadline.signal.removeEventListener('abort', giveUp);
    }
  }

  /**
   * @throws {SandboxError} `unavailable` without a whole answer; `aborted`; `provider` / `malformed_reply`; `truncated`
   */
  async request(request: HttpRequest): Promise<HttpAnswer> {
    const { deadline, maxBytes = MAX_ANSWER_BYTES, isContent = false } = request;
    deadline.check();
    try {
      const response = await this.#fetch(request, deadline.signal);
      if (isContent && response.ok) await checkEnd(response);
      // Node never ends a body that had come whole when its request was aborted.
      return await deadline.race(readAnswer(response, maxBytes, isContent ? tooLarge : tooLong), 'unknown');
    } catch (error) {
      if (error instanceof SandboxError) throw error;
      throw deadline.signal.aborted ? deadline.error('unknown') : transportError(error);
    }
  }

  #fetch({ method, path, query, headers, json, ...rest }: HttpRequest, signal: AbortSignal): Promise<Response> {
    const body = json === undefined ? rest.body : JSON.stringify(json);
    return fetch(this.url(path, query), {
      method,
      headers: { ...(json && { 'content-type': 'application/json' }), ...headers, ...this.#headers() },
      ...(body !== undefined && { body }),
      redirect: 'manual',
      signal,
    });
  }
}

/** @throws {SandboxError} `provider` / `malformed_reply`: its end cannot be told from a lost connection */
async function checkEnd({ body, headers }: Response): Promise<void> {
  if (body === null || headers.has('content-length') || headers.has('transfer-encoding')) return;
  await body.cancel();
  throw malformed('the answer does not say where it ends');
}

/** An answer that was opened. @throws {SandboxError} `provider` / `malformed_reply`: a success that is longer */
export async function readAnswer(
  response: Response,
  maxBytes: number,
  refused: (maxBytes: number) => SandboxError = tooLong,
): Promise<HttpAnswer> {
  return new HttpAnswer(response.status, response.headers, await readBody(response, maxBytes, refused));
}

async function readBody(
  response: Response,
  maxBytes: number,
  refused: (maxBytes: number) => SandboxError,
): Promise<Uint8Array> {
  const most = response.ok ? maxBytes : Math.min(maxBytes, MAX_FAILURE_BYTES);
  const declared = declaredBytes(response);
  const collected = new ByteCollector(most, declared);
  if (response.body === null) return collected.bytes();
  if (response.ok && declared > most) {
    await response.body.cancel();
    throw refused(maxBytes);
  }
  for await (const piece of response.body as AsyncIterable<Uint8Array>) {
    // Leaving the loop cancels the body, which closes the connection.
    if (collected.length + piece.byteLength > most) {
      if (response.ok) throw refused(maxBytes);
      break;
    }
    collected.append(piece);
  }
  return collected.bytes();
}

/** 0: not said, or of what comes packed. */
function declaredBytes({ headers }: Response): number {
  return headers.has('content-encoding') ? 0 : Number(headers.get('content-length') ?? 0);
}

function tooLong(maxBytes: number): SandboxError {
  return malformed(`the answer has more than ${maxBytes} bytes`);
}

function malformed(message: string): SandboxError {
  return new SandboxError('provider', { detail: 'malformed_reply', effect: 'unknown', message });
}

function tooLarge(maxBytes: number): SandboxError {
  return new SandboxError('truncated', {
    effect: 'none',
    message: `there are more than ${maxBytes} bytes, which is the most that can be given`,
  });
}
