import { SandboxError, type SandboxEffect, type SandboxHandle } from '#libs/contract';
import { BoundedMap } from '../common/bounded-map.js';
import type { Deadline } from '../common/deadline.js';
import { afterEarlier } from '../common/failed-answer.js';
import type { HttpAnswer, HttpClient, HttpRequest } from '../common/http-client.js';
import { asObject } from '../common/json.js';
import { sandboxPath, type DaytonaClient } from './daytona.client.js';
import {
  isGatewayFailure,
  isOverload,
  isNotFound,
  malformedReply,
  neverArrived,
  partError,
  toolboxError,
} from './daytona.errors.js';
import { getSandbox, missing, settledSandbox, type Wake } from './daytona.find.js';
import type { SandboxResource } from './daytona.resource.js';

/** The newest are remembered. */
const MAX_KNOWN = 1000;
const ATTEMPTS = 5;
/** The longest that a service which asks to be left alone is waited for between two attempts. */
const MAX_WAIT_MS = 5_000;

/** The daemon of one sandbox, which was up. */
export interface Toolbox {
  readonly id: string;
  readonly http: HttpClient;
  /** The home directory, as the file calls name it. */
  readonly home: string;
}

export interface ToolboxCall {
  /** Sent again after a failure that leaves open whether it was carried out. */
  readonly again: boolean;
  /** Which sandboxes are started first where they do not run. @default true */
  readonly wake?: Wake;
  /** By when it has to be sent; for its answer there may be more time. @default the deadline of the request */
  readonly begin?: Deadline;
}

/**
 * The toolboxes of the sandboxes, by handle. Which sandbox a name belongs to, and that it runs, is asked once and again
 * whenever an answer gives reason to doubt it: what the proxy says of a sandbox is never believed.
 */
export class Toolboxes {
  readonly #client: DaytonaClient;
  readonly #known = new BoundedMap<string, Toolbox>(MAX_KNOWN);

  constructor(client: DaytonaClient) {
    this.#client = client;
  }

  /** To be called whenever something is done to the sandbox. */
  forget(handle: SandboxHandle): void {
    this.#known.delete(keyOf(handle));
  }

  /**
   * `undefined`: it does not run, and was not to be started. Whatever fails here, the sandbox was given nothing to do.
   *
   * @throws {SandboxError} `not_found`: the control plane knows no such sandbox
   */
  async ready(handle: SandboxHandle, deadline: Deadline, wake: Wake = true): Promise<Toolbox | undefined> {
    const known = this.#known.get(keyOf(handle));
    if (known) return known;
    return this.#find(handle, deadline, wake).catch((error: unknown) => {
      throw error instanceof SandboxError ? error.with({ effect: 'none' }) : error;
    });
  }

  async #find(handle: SandboxHandle, deadline: Deadline, wake: Wake): Promise<Toolbox | undefined> {
    const sandbox = await settledSandbox(this.#client, handle, deadline, { wake });
    if (sandbox.phase !== 'running') return undefined;
    const http = this.#client.toolbox(`${await this.#url(handle, sandbox, deadline)}/${sandbox.id}`);
    const toolbox = { id: sandbox.id, http, home: await this.#home(handle, sandbox.id, http, deadline) };
    this.#known.set(keyOf(handle), toolbox);
    return toolbox;
  }

  /**
   * Whatever the answer of the daemon. A request that has not reached it is sent again once the sandbox runs.
   *
   * @returns `undefined` where the sandbox does not run and was not to be started
   * @throws {SandboxError} `not_found`: there is no such sandbox
   */
  async call(handle: SandboxHandle, request: HttpRequest, how: ToolboxCall): Promise<HttpAnswer | undefined> {
    const past: { earlier: SandboxEffect } = { earlier: 'none' };
    try {
      return (await this.#attempts(handle, request, how, past))?.after(past.earlier);
    } catch (error) {
      throw error instanceof SandboxError ? afterEarlier(error, past) : error;
    }
  }

  async #attempts(
    handle: SandboxHandle,
    request: HttpRequest,
    { again, wake = true, begin = request.deadline }: ToolboxCall,
    past: { earlier: SandboxEffect },
  ): Promise<HttpAnswer | undefined> {
    const { deadline } = request;
    for (let attempt = 1; ; attempt += 1) {
      const toolbox = await this.ready(handle, begin, wake);
      if (toolbox === undefined) return undefined;
      begin.check();
      const mayGoOn = again && attempt < ATTEMPTS;
      const answer = await toolbox.http.request(request).catch((error: unknown) => {
        this.forget(handle);
        if (!(error instanceof SandboxError) || !mayGoOn || deadline.signal.aborted) throw error;
        return this.#passing(error, deadline, past);
      });
      if (answer instanceof SandboxError) {
        await this.#client.pause(attempt, deadline, 'none');
      } else if (isGatewayFailure(answer) || (again && isOverload(answer))) {
        if (isGatewayFailure(answer)) this.forget(handle);
        const error = toolboxError(answer);
        if (!mayGoOn) throw error;
        await this.#client.pause(attempt, deadline, 'none', this.#passing(error, deadline, past).retryAfterMs);
      } else if (neverArrived(answer)) {
        this.forget(handle);
        if (await this.#isOfDaemon(handle, toolbox, answer, deadline, wake)) return answer;
        if (attempt === ATTEMPTS) throw toolboxError(answer);
        await this.#client.pause(attempt, deadline, 'none');
      } else {
        return answer;
      }
    }
  }

  /** Of an attempt that may be followed by another. @throws `error` when that would not help in time */
  #passing(error: SandboxError, { leftMs }: Deadline, past: { earlier: SandboxEffect }): SandboxError {
    const { code, effect, retryAfterMs = 0 } = error;
    if ((code !== 'unavailable' && code !== 'rate_limited') || retryAfterMs > Math.min(MAX_WAIT_MS, leftMs))
      throw error;
    if (past.earlier === 'none') past.earlier = effect;
    return error;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Whether a 401 or 404 is the daemon's own word: the control plane says that the same sandbox is there and runs. */
  async #isOfDaemon(
    handle: SandboxHandle,
    { id }: Toolbox,
    { status }: HttpAnswer,
    deadline: Deadline,
    wake: Wake,
  ): Promise<boolean> {
    if (status !== 401 && status !== 404) return false;
    const sandbox = await getSandbox(this.#client, handle, deadline);
    if (sandbox.phase !== 'running' || sandbox.id !== id) return false;
    await this.ready(handle, deadline, wake);
    return true;
  }

  async #url(handle: SandboxHandle, { id, toolboxUrl: told }: SandboxResource, deadline: Deadline): Promise<string> {
    const url = told ?? (await this.#askUrl({ ...handle, instanceId: id }, deadline));
    return toolboxUrl(url, this.#client.options.apiUrl);
  }

  async #askUrl(handle: SandboxHandle & { readonly instanceId: string }, deadline: Deadline): Promise<unknown> {
    const path = sandboxPath(handle.instanceId, 'toolbox-proxy-url');
    const answer = await this.#client.sendAgain({ method: 'GET', path, deadline });
    if (isNotFound(answer)) throw await missing(this.#client, handle, answer, deadline);
    if (!answer.ok) throw partError(answer);
    return asObject(answer.json())?.['url'];
  }

  /** Also waits until the daemon of a sandbox that was started answers. */
  #home(handle: SandboxHandle, id: string, http: HttpClient, deadline: Deadline): Promise<string> {
    const ask = async (): Promise<string> => {
      const answer = await http.request({ method: 'GET', path: '/user-home-dir', deadline });
      if (!answer.ok) {
        if (!neverArrived(answer)) throw toolboxError(answer);
        // It may have been deleted since; a 401 is that as well.
        const { phase } = await getSandbox(this.#client, { ...handle, instanceId: id }, deadline);
        throw answer.status === 401 && phase === 'running' ? toolboxError(answer) : notUp(answer);
      }
      const dir = asObject(answer.json())?.['dir'];
      if (typeof dir !== 'string' || !dir.startsWith('/')) throw malformedReply('the home directory');
      return dir;
    };
    return this.#client.retry(deadline, ask, 8);
  }
}

function keyOf({ name, instanceId = '' }: SandboxHandle): string {
  return `${name}\n${instanceId}`;
}

/**
 * Where the key may be sent: what the control plane says, if it is a URL without more than a path, and not less safe
 * than that of the control plane.
 */
function toolboxUrl(value: unknown, apiUrl: string): string {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
  const isPlain = url && url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (!isPlain || !['https:', new URL(apiUrl).protocol].includes(url.protocol)) throw malformedReply('the toolbox URL');
  return url.href.replace(/\/+$/, '');
}

function notUp(answer: HttpAnswer): SandboxError {
  return new SandboxError('unavailable', {
    effect: 'none',
    message: `the toolbox of the sandbox answered ${answer.status}`,
  });
}
