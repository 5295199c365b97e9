import { SandboxError, withBackoff, type SandboxEffect } from '#libs/contract';
import type { Deadline } from './deadline.js';
import { afterEarlier } from './failed-answer.js';
import { HttpClient, type HttpAnswer, type HttpRequest } from './http-client.js';

/** Of all attempts at an idempotent request. */
const ATTEMPTS = 4;

/** Authenticated requests to one API of a provider. */
export abstract class ProviderClient {
  protected readonly http: HttpClient;
  readonly #retryBaseMs: number;

  /** @param retryBaseMs the first wait before a request is sent again */
  constructor(baseUrl: string, retryBaseMs: number) {
    this.http = new HttpClient(baseUrl, () => this.authorization());
    this.#retryBaseMs = retryBaseMs;
  }

  /** The headers that say on whose behalf. @throws {SandboxError} `denied` without a credential */
  abstract authorization(): Readonly<Record<string, string>>;

  /** What an answer other than a success means. */
  protected abstract errorOf(answer: HttpAnswer): SandboxError;

  /** Whether the same request may fare better later. */
  protected isPassing({ status }: HttpAnswer): boolean {
    return status === 429 || status >= 500;
  }

  /** Sent once. Whatever the status. */
  send(request: HttpRequest): Promise<HttpAnswer> {
    return this.http.request(request);
  }

  /**
   * For idempotent requests: sent again while that may help, within the deadline. Whatever else the status. The answer
   * to one that changes something says what attempts before may have done.
   */
  async sendAgain(request: HttpRequest): Promise<HttpAnswer> {
    const answer = await this.exchangeAgain(request.deadline, () => this.send(request));
    return request.method === 'GET' ? answer.after('none') : answer;
  }

  /** As {@link sendAgain}, however the answer is come by. */
  protected exchangeAgain(
    deadline: Deadline,
    exchange: () => Promise<HttpAnswer>,
    attempts?: number,
  ): Promise<HttpAnswer> {
    const once = async (earlier: SandboxEffect): Promise<HttpAnswer> => {
      const answer = await exchange();
      if (this.isPassing(answer)) throw this.errorOf(answer);
      return answer.after(earlier);
    };
    return this.retry(deadline, once, attempts);
  }

  /**
   * `work` again while that may help and the deadline leaves time. It is told what the attempts before may have done,
   * and whatever it fails with in the end counts as that at least.
   */
  async retry<T>(
    deadline: Deadline,
    work: (earlier: SandboxEffect) => Promise<T>,
    attempts: number = ATTEMPTS,
  ): Promise<T> {
    const baseMs = this.#retryBaseMs;
    const { leftMs: deadlineMs, signal } = deadline;
    let earlier: SandboxEffect = 'none';
    const attempt = async (): Promise<T> => {
      try {
        return await work(earlier);
      } catch (error) {
        if (!(error instanceof SandboxError)) throw error;
        if (earlier === 'none') earlier = error.effect;
        throw afterEarlier(error, { earlier });
      }
    };
    try {
      return await withBackoff(attempt, { attempts, baseMs, maxMs: 8 * baseMs, deadlineMs, signal });
    } catch (error) {
      throw error instanceof SandboxError && error.code === 'aborted' ? deadline.error(error.effect) : error;
    }
  }
}
