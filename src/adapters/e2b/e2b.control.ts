import type { SandboxError } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import type { HttpAnswer, HttpRequest } from '../common/http-client.js';
import { afterEarlier, notProved } from '../common/failed-answer.js';
import { ProviderClient } from '../common/provider-client.js';
import { answerError, isMissing, malformedReply, noApiKey } from './e2b.errors.js';
import type { E2bOptions } from './e2b.options.js';
import { sandboxResource, type SandboxResource } from './e2b.resource.js';

/** The service goes on with a change of state for so long. */
const CHANGE_MS = 80_000;
const START_MS = 60_000;

/** Authenticated requests to the control plane of one team. */
export class E2bControl extends ProviderClient {
  readonly options: E2bOptions;
  /** The service has had two versions of create and connect: which one was seen to work. */
  #first: 'v2' | 'v1' = 'v2';

  constructor(options: E2bOptions) {
    super(options.baseUrl, options.retryBaseMs);
    this.options = options;
  }

  override authorization(): { 'x-api-key': string } {
    const { apiKey } = this.options;
    if (apiKey === undefined) throw noApiKey();
    return { 'x-api-key': apiKey };
  }

  /** For an operation that makes, pauses or wakes a sandbox, in milliseconds. */
  get changeTimeoutMs(): number {
    return Math.max(CHANGE_MS, this.options.timeoutMs);
  }

  /** For a stream to be there, which may need the sandbox to be woken, in milliseconds. */
  get startTimeoutMs(): number {
    return Math.max(START_MS, 2 * this.options.timeoutMs);
  }

  /**
   * Sent to the version of the path that the service has. One that it does not have does nothing, and says 404 as for a
   * sandbox that it does not have: then both were asked. What the second says counts, unless that is not there either.
   */
  async sendVersioned(request: HttpRequest, v1: Readonly<Record<string, unknown>> = {}): Promise<HttpAnswer> {
    const version = this.#first;
    const answer = await this.send(versioned(request, version, v1));
    if (answer.status !== 404 && answer.status !== 405 && answer.status !== 410) return answer;
    const other = version === 'v2' ? 'v1' : 'v2';
    const second = await this.send(versioned(request, other, v1));
    if (second.ok) this.#first = other;
    return hasNoPath(second) && !isMissing(second) ? answer : second;
  }

  /** A sandbox as it is. `undefined`: the service knows none of that id. */
  async find(id: string, deadline: Deadline): Promise<SandboxResource | undefined> {
    return this.#sandbox(id, await this.sendAgain({ method: 'GET', path: sandboxPath(id), deadline }));
  }

  /**
   * Runs a sandbox that is paused, and gives any at least its whole time. `undefined`: there is none, which a look at it
   * has proved: the call itself may be what the service does not have.
   */
  async connect(id: string, deadline: Deadline): Promise<SandboxResource | undefined> {
    const json = { timeout: this.options.ttlSeconds };
    const request = { method: 'POST', path: sandboxPath(id, 'connect'), json, deadline } as const;
    const answer = await this.exchangeAgain(deadline, () => this.sendVersioned(request), 8);
    if (!hasNoPath(answer)) return this.#sandbox(id, answer);
    if ((await this.find(id, deadline).catch(notProved('the resume'))) === undefined) return undefined;
    throw afterEarlier(malformedReply('the resume').with({ effect: 'none' }), answer);
  }

  protected override errorOf(answer: HttpAnswer): SandboxError {
    return answerError(answer);
  }

  /** A conflict is a change of state that is under way. */
  protected override isPassing(answer: HttpAnswer): boolean {
    return answer.status === 409 || (!hasNoPath(answer) && super.isPassing(answer));
  }

  #sandbox(id: string, answer: HttpAnswer): SandboxResource | undefined {
    if (isMissing(answer)) return undefined;
    if (!answer.ok) throw answerError(answer);
    const sandbox = sandboxResource(answer.json(), answer.headers.get('date'));
    if (sandbox?.id !== id) throw malformedReply('the sandbox');
    return sandbox;
  }
}

/** Whether perhaps the service has no such call, or no longer. It then did nothing. */
function hasNoPath({ status }: HttpAnswer): boolean {
  return status === 404 || status === 405 || status === 410 || status === 501;
}

/** The path of a sandbox, or of what belongs to it. */
export function sandboxPath(id: string, ...below: readonly string[]): string {
  return `/sandboxes/${[id, ...below].map(encodeURIComponent).join('/')}`;
}

function versioned(request: HttpRequest, version: 'v1' | 'v2', v1: Readonly<Record<string, unknown>>): HttpRequest {
  if (version === 'v2') return { ...request, path: `/v2${request.path}` };
  return { ...request, json: { ...request.json, ...v1 } };
}
