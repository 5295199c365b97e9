import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError, withBackoff, type SandboxEffect } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { HttpClient, type HttpAnswer, type HttpRequest } from '../common/http-client.js';
import { apiError, noApiKey } from './daytona.errors.js';
import type { DaytonaOptions } from './daytona.options.js';

/** Of all attempts at an idempotent request. */
const ATTEMPTS = 4;

/** Authenticated requests to the control plane, on behalf of one organization. */
export class DaytonaClient {
  readonly options: DaytonaOptions;
  readonly #http: HttpClient;

  constructor(options: DaytonaOptions) {
    this.options = options;
    this.#http = new HttpClient(options.apiUrl, () => this.authorization());
  }

  /** @throws {SandboxError} `denied` without a key */
  authorization(): { authorization: string } {
    const { apiKey } = this.options;
    if (apiKey === undefined) throw noApiKey();
    return { authorization: `Bearer ${apiKey}` };
  }

  /** Sent once. Whatever the status. */
  send(request: HttpRequest): Promise<HttpAnswer> {
    return this.#http.request(request);
  }

  /** For idempotent requests: sent again while that may help, within the deadline. Whatever else the status. */
  async sendAgain(request: HttpRequest): Promise<HttpAnswer> {
    return this.retry(request.deadline, async () => {
      const answer = await this.send(request);
      if (answer.status === 429 || answer.status >= 500) throw apiError(answer);
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

  /**
   * Waits between two looks at something that is under way, a little longer each time, and a second at most.
   *
   * @throws {SandboxError} of the deadline, with `effect`
   */
  async pause(look: number, deadline: Deadline, effect: SandboxEffect): Promise<void> {
    const ms = Math.min(1000, this.options.retryBaseMs * 1.3 ** Math.min(look, 20));
    await delay(ms, undefined, { signal: deadline.signal }).catch(() => {
      throw deadline.error(effect);
    });
  }

  /** Of a sandbox's toolbox. It is on another host, which the control plane names. */
  toolbox(url: string): HttpClient {
    return new HttpClient(url, () => this.authorization());
  }
}

/** The path of a sandbox, by its id or its name, or of what belongs to it. */
export function sandboxPath(idOrName: string, ...below: readonly string[]): string {
  return `/sandbox/${[idOrName, ...below].map(encodeURIComponent).join('/')}`;
}

/** A request with a JSON body. */
export function jsonBody(body: object): { readonly headers: Record<string, string>; readonly body: string } {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}
