import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { HttpAnswer, HttpClient, readAnswer, type HttpRequest } from '../common/http-client.js';
import {
  answerError,
  callError,
  changedNothing,
  connectCodeOf,
  isUnreached,
  malformedReply,
  noDomain,
  noSandbox,
  unreachable,
} from './e2b.errors.js';
import type { E2bControl } from './e2b.control.js';
import type { E2bResidents } from './e2b.residents.js';
import type { SandboxResource } from './e2b.resource.js';
import { asObject, type JsonObject } from '../common/json.js';
import { envelope } from './connect-envelope.js';

const ENVD_PORT = 49_983;
/** Of what is no stream. */
const MAX_PAGE_BYTES = 64 * 1024;
/** How often a sandbox that runs and yet is not reached is tried. */
const MOST_ROUNDS = 12;
const STREAM_TYPE = 'application/connect+json';

/** How a request to a sandbox is made beyond what it says. */
export interface Reach {
  /** Whether it is sent again while that may help: of what changes nothing that counts. @default false */
  readonly again?: boolean;
  /** Whether a sandbox that is paused is woken for it. @default true */
  readonly wake?: boolean;
}

/**
 * One sandbox by its id: requests to the daemon inside it. One that the proxy did not let in has done nothing, so that
 * every request may be sent again after the sandbox was woken.
 */
export class E2bMachine {
  readonly id: string;
  readonly control: E2bControl;
  readonly residents: E2bResidents;
  readonly #name: string;
  /** Absent where the domain is not known. */
  readonly #http: HttpClient | undefined;
  #token: string | undefined;
  #livesUntilMs: number;
  #isGone = false;

  /** @param resource with its token */
  constructor(control: E2bControl, residents: E2bResidents, name: string, resource: SandboxResource) {
    const { id, token, leftMs } = resource;
    const { ttlSeconds, sandboxUrl, user } = control.options;
    this.id = id;
    this.control = control;
    this.residents = residents;
    this.#name = name;
    this.#token = token;
    this.#livesUntilMs = performance.now() + (leftMs ?? ttlSeconds * 1000);
    const base = sandboxUrl ?? hostOf(control, ENVD_PORT, resource);
    if (base === undefined) return;
    this.#http = new HttpClient(base, () => ({
      'e2b-sandbox-id': id,
      'e2b-sandbox-port': String(ENVD_PORT),
      'accept-encoding': 'identity',
      ...(this.#token !== undefined && { 'x-access-token': this.#token }),
      ...(user !== undefined && { authorization: `Basic ${Buffer.from(`${user}:`).toString('base64')}` }),
    }));
  }

  /** Whether the service has said that there is no such sandbox. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** Keeps it alive until what comes back is called. */
  hold(): () => void {
    return this.residents.hold(this.id, this.#livesUntilMs - performance.now());
  }

  /** Whatever the status. */
  async send(request: HttpRequest, { again = false, wake = true }: Reach = {}): Promise<HttpAnswer> {
    const once = (): Promise<HttpAnswer> => this.#reached(request.deadline, wake, () => this.#envd.request(request));
    if (!again) return once();
    const attempt = async (): Promise<HttpAnswer> => {
      const answer = await once();
      const isPassing = answer.status === 429 || (answer.status >= 500 && connectCodeOf(answer) === undefined);
      if (isPassing && answer.status !== 507) throw answerError(answer);
      return answer;
    };
    return this.control.retry(request.deadline, attempt).catch(changedNothing);
  }

  /** A unary call of envd. @throws {SandboxError} as its error says */
  async call(method: string, message: JsonObject, deadline: Deadline, reach?: Reach): Promise<JsonObject> {
    const answer = await this.tryCall(method, message, deadline, reach);
    if (!answer.ok) throw callError(method, answer);
    const body = asObject(answer.json());
    if (body === undefined) throw malformedReply(method);
    return body;
  }

  /** A unary call of envd. Whatever the status. */
  tryCall(
    method: string,
    message: JsonObject,
    deadline: Deadline,
    reach?: Reach,
    bounds?: Pick<HttpRequest, 'maxBytes' | 'isContent'>,
  ): Promise<HttpAnswer> {
    const headers = { 'connect-protocol-version': '1' };
    return this.send({ method: 'POST', path: `/${method}`, headers, json: message, deadline, ...bounds }, reach);
  }

  /** A streaming call of envd. Its body is read to its end, or `life` aborted. */
  async open(
    method: string,
    message: JsonObject,
    life: AbortController,
    deadline: Deadline,
    { wake = true }: Pick<Reach, 'wake'> = {},
  ): Promise<Response> {
    const body = envelope(message);
    const headers = {
      'content-type': STREAM_TYPE,
      'connect-protocol-version': '1',
      'keepalive-ping-interval': String(this.control.options.keepaliveSeconds),
    };
    const answer = await this.#reached(deadline, wake, async () => {
      const response = await this.#envd.open({ method: 'POST', path: `/${method}`, headers, body, deadline }, life);
      const isStream = response.status === 200 && response.headers.get('content-type')?.startsWith(STREAM_TYPE);
      return isStream ? response : deadline.race(readAnswer(response, MAX_PAGE_BYTES), 'unknown');
    });
    if (!(answer instanceof HttpAnswer)) return answer;
    throw answer.ok ? malformedReply(method) : callError(method, answer);
  }

  /** Runs it, if it is paused. @throws {SandboxError} `not_found` */
  async wake(deadline: Deadline): Promise<void> {
    const resource = await this.control.connect(this.id, deadline);
    if (resource === undefined) throw this.gone();
    this.#token = resource.token ?? this.#token;
    this.#livesUntilMs = performance.now() + this.control.options.ttlSeconds * 1000;
    this.residents.unpark(this.id);
  }

  /** As it is, once it runs. @throws {SandboxError} `not_found` */
  async running(deadline: Deadline): Promise<SandboxResource> {
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      const sandbox = await this.control.find(this.id, deadline);
      if (sandbox === undefined) throw this.gone();
      if (sandbox.state !== 'suspended') return sandbox;
      await this.wake(deadline);
    }
    throw unreachable();
  }

  /** The service has none of its id. */
  gone(): SandboxError {
    this.#isGone = true;
    this.residents.unpark(this.id);
    return noSandbox(this.#name);
  }

  get #envd(): HttpClient {
    if (this.#http === undefined) throw noDomain();
    return this.#http;
  }

  async #reached<T extends HttpAnswer | Response>(
    deadline: Deadline,
    wake: boolean,
    exchange: () => Promise<T>,
  ): Promise<T> {
    let isRefreshed = false;
    for (let round = 0; ; round += 1) {
      const answer = await exchange();
      if (!(answer instanceof HttpAnswer)) return answer;
      if (isUnreached(answer)) {
        if (!wake || round === MOST_ROUNDS) throw unreachable();
        await this.#reach(round, deadline);
      } else if (answer.status === 401 && connectCodeOf(answer) === undefined && !isRefreshed) {
        isRefreshed = true;
        if (!(await this.#refresh(deadline))) return answer;
      } else return answer;
    }
  }

  /** Why there was no way in, and what helps. */
  async #reach(round: number, deadline: Deadline): Promise<void> {
    const sandbox = await this.control.find(this.id, deadline);
    if (sandbox === undefined) throw this.gone();
    if (sandbox.state !== 'running') return this.wake(deadline);
    const { retryBaseMs } = this.control.options;
    await delay(Math.min(retryBaseMs * 2 ** round, 1_000), undefined, { signal: deadline.signal }).catch(() => {
      throw deadline.error('none');
    });
  }

  /** @returns whether there is another token */
  async #refresh(deadline: Deadline): Promise<boolean> {
    const sandbox = await this.control.find(this.id, deadline);
    if (sandbox === undefined) throw this.gone();
    const isOther = sandbox.token !== undefined && sandbox.token !== this.#token;
    if (isOther) this.#token = sandbox.token;
    return isOther;
  }
}

/** What no process is needed for cannot miss one. Of a sandbox that is gone it was the control plane that said so. */
export function nothingMissing(machine: E2bMachine, what: string): (error: unknown) => never {
  return (error) => {
    const isMissing = error instanceof SandboxError && error.code === 'not_found' && !machine.isGone;
    throw isMissing ? malformedReply(what) : error;
  };
}

/** Where a port of a sandbox can be reached from outside. `undefined`: the domain is not known. */
export function hostOf(
  { options }: E2bControl,
  port: number,
  { id, domain }: Pick<SandboxResource, 'id' | 'domain'>,
): string | undefined {
  const { protocol, host } = new URL(options.baseUrl);
  const below = domain ?? options.domain ?? (host.startsWith('api.') ? host.slice('api.'.length) : undefined);
  return below === undefined ? undefined : `${protocol}//${port}-${id}.${below}`;
}
