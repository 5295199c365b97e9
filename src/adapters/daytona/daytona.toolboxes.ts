import { SandboxError, type SandboxHandle } from '#libs/contract';
import { BoundedMap } from '../common/bounded-map.js';
import type { Deadline } from '../common/deadline.js';
import type { HttpAnswer, HttpClient, HttpRequest } from '../common/http-client.js';
import { asObject } from '../common/json.js';
import { sandboxPath, type DaytonaClient } from './daytona.client.js';
import { apiError, isGatewayFailure, malformedReply, neverArrived, toolboxError } from './daytona.errors.js';
import { getSandbox, settledSandbox } from './daytona.find.js';
import type { SandboxResource } from './daytona.resource.js';

/** The newest are remembered. */
const MAX_KNOWN = 1000;
const ATTEMPTS = 5;

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
  /** A sandbox that does not run is started first. @default true */
  readonly wake?: boolean;
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
   * `undefined`: it does not run, and was not to be started.
   *
   * @throws {SandboxError} `not_found`: the control plane knows no such sandbox
   */
  async ready(handle: SandboxHandle, deadline: Deadline, wake = true): Promise<Toolbox | undefined> {
    const known = this.#known.get(keyOf(handle));
    if (known) return known;
    const sandbox = await settledSandbox(this.#client, handle, deadline, { wake });
    if (sandbox.phase !== 'running') return undefined;
    const http = this.#client.toolbox(`${await this.#url(sandbox, deadline)}/${sandbox.id}`);
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
  async call(
    handle: SandboxHandle,
    request: HttpRequest,
    { again, wake = true }: ToolboxCall,
  ): Promise<HttpAnswer | undefined> {
    const { deadline } = request;
    for (let attempt = 1; ; attempt += 1) {
      const toolbox = await this.ready(handle, deadline, wake);
      if (toolbox === undefined) return undefined;
      const answer = await toolbox.http.request(request).catch((error: unknown) => {
        this.forget(handle);
        if (!again || attempt === ATTEMPTS || !isPassing(error) || deadline.signal.aborted) throw error;
      });
      if (answer !== undefined && !neverArrived(answer) && !isGatewayFailure(answer)) return answer;
      this.forget(handle);
      const mayRepeat = again || (answer !== undefined && neverArrived(answer));
      if (answer !== undefined && isGatewayFailure(answer) && !mayRepeat) throw toolboxError(answer);
      if (answer !== undefined && (await this.#isOfDaemon(handle, toolbox, answer, deadline, wake))) return answer;
      if (attempt === ATTEMPTS && answer !== undefined) throw toolboxError(answer);
      await this.#client.pause(attempt, deadline, answer === undefined ? 'unknown' : 'none');
    }
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
    wake: boolean,
  ): Promise<boolean> {
    if (status !== 401 && status !== 404) return false;
    const before = await settledSandbox(this.#client, handle, deadline, { wake: false });
    if (before.phase !== 'running') return false;
    if (before.id !== id) return false;
    await this.ready(handle, deadline, wake);
    return true;
  }

  async #url(sandbox: SandboxResource, deadline: Deadline): Promise<string> {
    return toolboxUrl(sandbox.toolboxUrl ?? (await this.#askUrl(sandbox.id, deadline)), this.#client.options.apiUrl);
  }

  async #askUrl(id: string, deadline: Deadline): Promise<unknown> {
    const path = sandboxPath(id, 'toolbox-proxy-url');
    const answer = await this.#client.sendAgain({ method: 'GET', path, deadline });
    if (!answer.ok) throw apiError(answer);
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

function isPassing(error: unknown): boolean {
  return error instanceof SandboxError && error.code === 'unavailable';
}
