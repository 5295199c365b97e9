import { SandboxError, type SandboxHandle } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { notProved, unconfirmed } from '../common/failed-answer.js';
import type { HttpAnswer } from '../common/http-client.js';
import { notSupported } from '../common/not-supported.js';
import { sandboxPath, type DaytonaClient } from './daytona.client.js';
import { apiError, failedSandbox, isNotFound, malformedReply, noSandbox, saysTaken } from './daytona.errors.js';
import { findSandbox, getSandbox, isOf, settledSandbox, untilGone } from './daytona.find.js';
import { sandboxResource } from './daytona.resource.js';

/** For a name that is taken though nobody has it any more. */
const CREATE_ATTEMPTS = 8;
const MAX_STOPS = 5;

/**
 * Nothing happens to a sandbox by itself but that it is moved to cheaper storage once it has stood still for a week:
 * neither time nor silence stops or deletes it.
 */
const INTERVALS = { autoStopInterval: 0, autoArchiveInterval: 10_080, autoDeleteInterval: -1, ttlMinutes: 0 } as const;

/** Creating, deleting, parking and waking sandboxes. */
export class DaytonaManagement {
  readonly #client: DaytonaClient;

  constructor(client: DaytonaClient) {
    this.#client = client;
  }

  /** Makes it, or finds the one that is there. After an answer that says neither, the name decides. */
  create(name: string, deadline: Deadline): Promise<void> {
    return this.#client.retry(deadline, () => this.#createOrAdopt(name, deadline), CREATE_ATTEMPTS);
  }

  /** @returns its id */
  async createNew(name: string, deadline: Deadline): Promise<string> {
    const answer = await this.#post(name, deadline).catch((error: unknown) => {
      throw error instanceof SandboxError && error.code === 'provider' ? unconfirmed('the creation', error) : error;
    });
    if (answer.status >= 300 && answer.status < 400) throw unconfirmed('the creation', apiError(answer));
    if (saysTaken(answer)) throw alreadyExists(name);
    if (leavesOpenWhy(answer)) {
      const found = await findSandbox(this.#client, name, deadline).catch(notProved('the creation'));
      if (found?.phase === 'failed') throw failedSandbox(name, found.state).with({ effect: 'unknown' });
      if (found) throw alreadyExists(name);
    }
    if (!answer.ok) throw apiError(answer);
    const id = sandboxResource(answer.json())?.id;
    if (id === undefined) throw unconfirmed('the creation');
    await this.#started({ provider: '', name, instanceId: id }, deadline);
    return id;
  }

  /** Resolves once the id is gone, so that another of that name stays. @returns the id, where there was one */
  async destroy(handle: SandboxHandle, deadline: Deadline): Promise<string | undefined> {
    const client = this.#client;
    const sandbox = await findSandbox(client, handle.instanceId ?? handle.name, deadline);
    if (sandbox === undefined || (sandbox.phase !== 'going' && !isOf(sandbox, handle))) return undefined;
    const { id } = sandbox;
    for (let look = 0; ; look += 1) {
      const answer = await client.sendAgain({ method: 'DELETE', path: sandboxPath(id), deadline });
      if (answer.ok || isNotFound(answer)) break;
      // Another change has to end first; perhaps it is its deletion.
      if (answer.status !== 409 && answer.status !== 400) throw apiError(answer);
      await client.pause(look, deadline, 'unknown');
      if ((await findSandbox(client, id, deadline))?.phase === 'going') break;
    }
    await untilGone(client, id, deadline).catch((error: unknown) => {
      throw error instanceof SandboxError ? error.with({ effect: 'unknown' }) : error;
    });
    return id;
  }

  /** Resolves once it has stopped. */
  async suspend(handle: SandboxHandle, deadline: Deadline): Promise<void> {
    const client = this.#client;
    let sandbox = await getSandbox(client, handle, deadline);
    const { id } = sandbox;
    for (let look = 0, stops = 0; ; look += 1) {
      const { phase, state } = sandbox;
      if (phase === 'parked' || state === 'archiving') return;
      if (phase === 'failed') throw failedSandbox(handle.name, state);
      if (phase === 'running') {
        if (sandbox.isEphemeral) throw wouldDelete(handle.name);
        const answer = await client.sendAgain({ method: 'POST', path: sandboxPath(id, 'stop'), deadline });
        const isRefused = answer.status === 400 || answer.status === 409;
        if (isRefused && (stops += 1) > MAX_STOPS) throw apiError(answer);
        if (!answer.ok && !isRefused && !isNotFound(answer)) throw apiError(answer);
      }
      await client.pause(look, deadline, 'unknown');
      const found = await findSandbox(client, id, deadline);
      if (found === undefined) throw noSandbox(handle.name);
      sandbox = found;
    }
  }

  async #createOrAdopt(name: string, deadline: Deadline): Promise<void> {
    let failure: SandboxError;
    let refusal: HttpAnswer | undefined;
    try {
      const answer = await this.#post(name, deadline);
      if (answer.ok) {
        const sandbox = sandboxResource(answer.json());
        if (sandbox === undefined) throw malformedReply('the new sandbox');
        return await this.#started({ provider: '', name, instanceId: sandbox.id }, deadline);
      }
      failure = apiError(answer);
      refusal = answer;
    } catch (error) {
      if (!(error instanceof SandboxError) || error.effect !== 'unknown' || deadline.signal.aborted) throw error;
      failure = error;
    }
    if (failure.code === 'denied' || failure.code === 'rate_limited') throw failure;
    const found = await findSandbox(this.#client, name, deadline).catch((error: unknown) => {
      if (refusal && leavesOpenWhy(refusal)) return notProved('the creation')(error);
      throw failure;
    });
    // A name that nobody has any more may be taken for a while.
    if (found === undefined) throw refusal?.status === 409 ? unconfirmed('the creation', failure) : failure;
    if (found.phase === 'failed') throw failedSandbox(name, found.state).with({ effect: failure.effect });
    if (found.phase !== 'going') return;
    await untilGone(this.#client, found.id, deadline);
    throw unconfirmed('the creation', failure);
  }

  /** What was made is there though it does not run. */
  async #started(handle: SandboxHandle, deadline: Deadline): Promise<void> {
    await settledSandbox(this.#client, handle, deadline, { wake: true }).catch((error: unknown) => {
      throw error instanceof SandboxError && error.code !== 'not_found' ? error.with({ effect: 'done' }) : error;
    });
  }

  #post(name: string, deadline: Deadline): Promise<HttpAnswer> {
    const { snapshot } = this.#client.options;
    return this.#client.send({
      method: 'POST',
      path: '/sandbox',
      json: { name, ...INTERVALS, ...(snapshot !== undefined && { snapshot }) },
      deadline,
      maxBytes: 1024 * 1024,
    });
  }
}

/**
 * Whether a creation was refused for one of several reasons: that the name is taken, as old releases say with a 400;
 * that what was made did not start; or that the request is wrong.
 */
function leavesOpenWhy({ status }: HttpAnswer): boolean {
  return status === 400 || status === 409;
}

function alreadyExists(name: string): SandboxError {
  return new SandboxError('already_exists', { effect: 'none', message: `there is a sandbox '${name}' already` });
}

function wouldDelete(name: string): SandboxError {
  return notSupported(`the sandbox '${name}' is ephemeral: stopping it would delete it`);
}
