import { SandboxError, type SandboxEffect, type SandboxHandle } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { afterEarlier, notProved, unconfirmed } from '../common/failed-answer.js';
import type { HttpAnswer } from '../common/http-client.js';
import { notSupported } from '../common/not-supported.js';
import { sandboxPath, type DaytonaClient } from './daytona.client.js';
import { apiError, failedSandbox, isNotFound, malformedReply, noSandbox, saysTaken } from './daytona.errors.js';
import { addressOf, findSandbox, getSandbox, isOf, settledSandbox, untilGone } from './daytona.find.js';
import { sandboxResource, type SandboxResource } from './daytona.resource.js';

/** For a name that is taken though nobody has it any more. */
const CREATE_ATTEMPTS = 8;
/** Times that the service may refuse to stop or to delete a sandbox that is not seen to change: some seconds, or many. */
const MAX_REFUSALS = { stop: 5, delete: 30 } as const;

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
    const made = madeIn(answer, name);
    if (made === undefined) throw unconfirmed('the creation');
    await this.#started(made, deadline);
    return made.id;
  }

  /** Resolves once the id is gone, so that another of that name stays. @returns the id, where there was one */
  async destroy(handle: SandboxHandle, deadline: Deadline): Promise<string | undefined> {
    const client = this.#client;
    const sandbox = await findSandbox(client, addressOf(handle), deadline);
    if (sandbox === undefined || (sandbox.phase !== 'going' && !isOf(sandbox, handle))) return undefined;
    const { id } = sandbox;
    await asking(async (asked) => {
      for (let look = 0, refusals = 0; ; look += 1) {
        const answer = await client.sendAgain({ method: 'DELETE', path: sandboxPath(id), deadline });
        if (answer.ok || isNotFound(answer)) break;
        // Another change has to end first; perhaps it is its deletion.
        if (answer.status !== 409 && answer.status !== 400) throw apiError(answer);
        asked(answer.earlier);
        await client.pause(look, deadline, 'none');
        const found = await findSandbox(client, id, deadline);
        if (found === undefined || found.phase === 'going') break;
        if (found.phase !== 'changing' && (refusals += 1) > MAX_REFUSALS.delete) throw apiError(answer);
      }
      asked('unknown');
      await untilGone(client, id, deadline);
    });
    return id;
  }

  /** Resolves once it has stopped. */
  suspend(handle: SandboxHandle, deadline: Deadline): Promise<void> {
    const client = this.#client;
    return asking(async (asked) => {
      let sandbox = await getSandbox(client, handle, deadline);
      const { id } = sandbox;
      for (let look = 0, refusals = 0; ; look += 1) {
        const { phase, state } = sandbox;
        if (phase === 'parked' || phase === 'frozen' || state === 'archiving') return;
        if (phase === 'failed') throw failedSandbox(handle.name, state);
        if (phase === 'running') {
          if (sandbox.isEphemeral) throw wouldDelete(handle.name);
          const answer = await client.sendAgain({ method: 'POST', path: sandboxPath(id, 'stop'), deadline });
          const isRefused = answer.status === 400 || answer.status === 409;
          if (isRefused && (refusals += 1) > MAX_REFUSALS.stop) throw apiError(answer);
          if (!answer.ok && !isRefused && !isNotFound(answer)) throw apiError(answer);
          asked(answer.ok ? 'unknown' : answer.earlier);
        }
        await client.pause(look, deadline, 'none');
        const found = await findSandbox(client, id, deadline);
        if (found === undefined) throw noSandbox(handle.name);
        sandbox = found;
      }
    });
  }

  /** Resolves once it runs. */
  resume(handle: SandboxHandle, deadline: Deadline): Promise<SandboxResource> {
    return asking((asked) =>
      settledSandbox(this.#client, handle, deadline, { wake: true, asked: () => asked('unknown') }),
    );
  }

  async #createOrAdopt(name: string, deadline: Deadline): Promise<void> {
    let failure: SandboxError;
    let refusal: HttpAnswer | undefined;
    try {
      const answer = await this.#post(name, deadline);
      if (answer.ok) {
        const made = madeIn(answer, name);
        if (made === undefined) throw malformedReply('the new sandbox');
        return await this.#started(made, deadline);
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

  /** What was made is there though it does not run; or was, until somebody deleted it. */
  async #started({ id, name }: SandboxResource, deadline: Deadline): Promise<void> {
    const handle = { provider: '', name, instanceId: id };
    await settledSandbox(this.#client, handle, deadline, { wake: true }).catch((error: unknown) => {
      const isGone = error instanceof SandboxError && error.code === 'not_found';
      const failure = isGone ? unconfirmed('the start', error) : error;
      throw failure instanceof SandboxError ? failure.with({ effect: 'done' }) : failure;
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

/** The sandbox that a creation was answered with. `undefined`: none, or another than was asked for. */
function madeIn(answer: HttpAnswer, name: string): SandboxResource | undefined {
  const sandbox = sandboxResource(answer.json());
  return sandbox?.name === name ? sandbox : undefined;
}

/** `work` that tells when something may have been done: however it fails from then on, it may have. */
async function asking<T>(work: (asked: (effect: SandboxEffect) => void) => Promise<T>): Promise<T> {
  let earlier: SandboxEffect = 'none';
  const asked = (effect: SandboxEffect): void => {
    if (earlier === 'none') earlier = effect;
  };
  try {
    return await work(asked);
  } catch (error) {
    throw error instanceof SandboxError ? afterEarlier(error, { earlier }) : error;
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
