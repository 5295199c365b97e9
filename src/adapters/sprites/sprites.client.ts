import { SandboxError, withBackoff } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { HttpClient, type HttpAnswer, type HttpRequest } from '../common/http-client.js';
import { answerError, noToken } from './sprites.errors.js';
import type { SpritesOptions } from './sprites.options.js';

/** Of all attempts at an idempotent request. */
const ATTEMPTS = 4;

/** Authenticated requests to the API of one organization. */
export class SpritesClient {
  readonly options: SpritesOptions;
  readonly #http: HttpClient;

  constructor(options: SpritesOptions) {
    this.options = options;
    this.#http = new HttpClient(options.baseUrl, () => this.authorization());
  }

  /** @throws {SandboxError} `denied` without a token */
  authorization(): { authorization: string } {
    const { token } = this.options;
    if (token === undefined) throw noToken();
    return { authorization: `Bearer ${token}` };
  }

  /** Sent once. Whatever the status. */
  send(request: HttpRequest): Promise<HttpAnswer> {
    return this.#http.request(request);
  }

  /** For idempotent requests: sent again while that may help, within the deadline. Whatever else the status. */
  async sendAgain(request: HttpRequest): Promise<HttpAnswer> {
    return this.retry(request.deadline, async () => {
      const answer = await this.send(request);
      if (answer.status === 429 || answer.status >= 500) throw answerError(answer);
      return answer;
    });
  }

  /** `work` again while that may help and the deadline leaves time. */
  retry<T>(deadline: Deadline, work: () => Promise<T>, attempts: number = ATTEMPTS): Promise<T> {
    const { retryBaseMs: baseMs } = this.options;
    return withBackoff(work, {
      attempts,
      baseMs,
      maxMs: 8 * baseMs,
      deadlineMs: deadline.leftMs,
      signal: deadline.signal,
    }).catch((error: unknown) => {
      throw error instanceof SandboxError && error.code === 'aborted' ? deadline.error(error.effect) : error;
    });
  }

  /** Of a WebSocket. */
  socketUrl(path: string, query: Iterable<readonly [string, string]>): URL {
    const url = this.#http.url(path, query);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    return url;
  }
}

/** The path of a sprite, or of what belongs to it. */
export function spritePath(name: string, ...below: readonly string[]): string {
  return `/v1/sprites/${[name, ...below].map(encodeURIComponent).join('/')}`;
}

/** For a WebSocket, which may have to wake a sprite. */
export function socketTimeoutMs({ options }: SpritesClient): number {
  return 2 * options.timeoutMs;
}
