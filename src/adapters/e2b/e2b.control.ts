import { SandboxError, withBackoff } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { HttpClient, type HttpAnswer, type HttpRequest } from '../common/http-client.js';
import { answerError, isMissing, malformedReply, noApiKey } from './e2b.errors.js';
import type { E2bOptions } from './e2b.options.js';
import { sandboxResource, type SandboxResource } from './e2b.resource.js';

/** Of all attempts at an idempotent request. */
const ATTEMPTS = 4;
/** The service goes on with a change of state for so long. */
const CHANGE_MS = 80_000;

/** A request to the control plane. */
export interface ControlRequest {
  readonly method: HttpRequest['method'];
  readonly path: string;
  readonly query?: HttpRequest['query'];
  readonly json?: Readonly<Record<string, unknown>>;
  readonly deadline: Deadline;
}

/** Authenticated requests to the control plane of one team. */
export class E2bControl {
  readonly options: E2bOptions;
  readonly #http: HttpClient;
  /** The service has had two versions of create and connect: which one was seen to work. */
  #first: 'v2' | 'v1' = 'v2';

  constructor(options: E2bOptions) {
    this.options = options;
    this.#http = new HttpClient(options.baseUrl, () => {
      if (options.apiKey === undefined) throw noApiKey();
      return { 'x-api-key': options.apiKey };
    });
  }

  /** For an operation that makes, pauses or wakes a sandbox, in milliseconds. */
  get changeTimeoutMs(): number {
    return Math.max(CHANGE_MS, this.options.timeoutMs);
  }

  /** Sent once. Whatever the status. */
  send({ method, path, query, json, deadline }: ControlRequest): Promise<HttpAnswer> {
    return this.#http.request({
      method,
      path,
      ...(query && { query }),
      ...(json && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(json) }),
      deadline,
    });
  }

  /** For idempotent requests: sent again while that may help, within the deadline. Whatever else the status. */
  sendAgain(request: ControlRequest): Promise<HttpAnswer> {
    return this.retry(request.deadline, async () => {
      const answer = await this.send(request);
      if (answer.status === 409 || answer.status === 429 || answer.status >= 500) throw answerError(answer);
      return answer;
    });
  }

  /**
   * Sent to the version of the path that the service has. One that it does not have does nothing, and says 404 as for a
   * sandbox that it does not have: then both were asked.
   */
  async sendVersioned(request: ControlRequest, v1: Readonly<Record<string, unknown>> = {}): Promise<HttpAnswer> {
    const version = this.#first;
    const answer = await this.send(versioned(request, version, v1));
    if (answer.status !== 404 && answer.status !== 405) return answer;
    const other = version === 'v2' ? 'v1' : 'v2';
    const second = await this.send(versioned(request, other, v1));
    if (second.ok) this.#first = other;
    return second.status === 405 || (second.status === 404 && !isMissing(second)) ? answer : second;
  }

  /** A sandbox as it is. `undefined`: the service knows none of that id. */
  async find(id: string, deadline: Deadline): Promise<SandboxResource | undefined> {
    const answer = await this.sendAgain({ method: 'GET', path: sandboxPath(id), deadline });
    if (isMissing(answer)) return undefined;
    if (!answer.ok) throw answerError(answer);
    const sandbox = sandboxResource(answer.json());
    if (sandbox?.id !== id) throw malformedReply('the sandbox');
    return sandbox;
  }

  /** Runs a sandbox that is paused, and gives any at least its whole time. `undefined`: there is none. */
  async connect(id: string, deadline: Deadline): Promise<SandboxResource | undefined> {
    const json = { timeout: this.options.ttlSeconds };
    const request = { method: 'POST', path: sandboxPath(id, 'connect'), json, deadline } as const;
    const answer = await this.retry(
      deadline,
      async () => {
        const one = await this.sendVersioned(request);
        if (one.status === 409 || one.status === 429 || one.status >= 500) throw answerError(one);
        return one;
      },
      8,
    );
    if (isMissing(answer)) return undefined;
    if (!answer.ok) throw answerError(answer);
    const sandbox = sandboxResource(answer.json());
    if (sandbox?.id !== id) throw malformedReply('the sandbox');
    return sandbox;
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
}

/** The path of a sandbox, or of what belongs to it. */
export function sandboxPath(id: string, ...below: readonly string[]): string {
  return `/sandboxes/${[id, ...below].map(encodeURIComponent).join('/')}`;
}

function versioned(
  request: ControlRequest,
  version: 'v1' | 'v2',
  v1: Readonly<Record<string, unknown>>,
): ControlRequest {
  if (version === 'v2') return { ...request, path: `/v2${request.path}` };
  return { ...request, json: { ...request.json, ...v1 } };
}
