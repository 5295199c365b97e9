import { SandboxError, type SandboxHandle } from '#libs/contract';
import { Logger } from '@nestjs/common';
import type { Deadline } from '../common/deadline.js';
import { mayHaveActed, unconfirmed } from '../common/failed-answer.js';
import type { HttpAnswer } from '../common/http-client.js';
import { onlyAsked } from '../common/termination.js';
import { spritePath, type SpritesClient } from './sprites.client.js';
import { anotherIncarnation, answerError, malformedReply, isPage, nameTaken, saysMissing } from './sprites.errors.js';
import { spriteResource, type SpriteResource } from './sprites.resource.js';

/** How often a deleted sprite is asked for until it is gone. */
const GONE_ATTEMPTS = 6;

/** Creating, finding and deleting sprites. */
export class SpritesManagement {
  readonly #client: SpritesClient;
  readonly #logger = new Logger('SpritesAdapter');

  constructor(client: SpritesClient) {
    this.#client = client;
  }

  /** Makes it, or finds the one that is there. After an answer that says neither, the name decides. */
  async create(name: string, deadline: Deadline): Promise<SpriteResource> {
    const sprite = await this.#client.retry(deadline, async () => {
      try {
        const answer = await this.#post(name, deadline);
        if (answer.ok) return resourceIn(answer, name);
        if (answer.status === 409) return await this.#adopt(name, deadline);
        const taken = await this.#refused(answer, name, deadline);
        if (taken === undefined) throw refusal(answer);
        return taken;
      } catch (error) {
        if (!(error instanceof SandboxError) || error.effect !== 'unknown' || deadline.signal.aborted) throw error;
        const found = await this.#look(name, deadline);
        if (found === undefined) throw error;
        return found;
      }
    });
    // A body that only names it says nothing about its URL.
    if (this.#client.options.publicUrls && sprite.url !== undefined && !sprite.isPublic)
      await this.#open(name, deadline);
    return sprite;
  }

  /**
   * Sent once. Of an answer without an id it is read right after, by the name.
   *
   * @returns its id
   */
  async createNew(name: string, deadline: Deadline): Promise<string> {
    const answer = await this.#post(name, deadline).catch((error: unknown) => {
      throw error instanceof SandboxError && error.code === 'provider' ? unconfirmed('the creation', error) : error;
    });
    if (answer.status >= 300 && answer.status < 400) throw unconfirmed('the creation', answerError(answer));
    const isTaken = answer.status === 409 && !isPage(answer);
    if (isTaken || (await this.#refused(answer, name, deadline))) throw nameTaken(name);
    if (!answer.ok) throw refusal(answer);
    const made = spriteResource(answer.json(), name);
    const id = made && (made.id ?? (await this.#look(name, deadline))?.id);
    if (id === undefined) throw unconfirmed('the creation');
    return id;
  }

  /** `undefined`: there is none of that name. */
  async find(name: string, deadline: Deadline): Promise<SpriteResource | undefined> {
    const answer = await this.#client.sendAgain({ method: 'GET', path: spritePath(name), deadline });
    if (saysMissing(answer)) return undefined;
    return resourceIn(answer, name);
  }

  /** The sprite of a handle. @throws {SandboxError} `not_found`, also for another incarnation */
  async get({ name, instanceId }: SandboxHandle, deadline: Deadline): Promise<SpriteResource> {
    const sprite = await this.find(name, deadline);
    if (sprite === undefined) {
      throw new SandboxError('not_found', { effect: 'none', message: `there is no sprite '${name}'` });
    }
    if (isAnother(sprite, instanceId)) throw anotherIncarnation(name);
    return sprite;
  }

  /** As {@link get}, of a call that may do more: nothing is done yet. */
  look(handle: SandboxHandle, deadline: Deadline): Promise<SpriteResource> {
    return this.get(handle, deadline).catch((error: unknown) => {
      throw error instanceof SandboxError ? error.with({ effect: 'none' }) : error;
    });
  }

  /** For a handle that names an incarnation: that it is still the one, immediately before something is done to it. */
  async verify(handle: SandboxHandle, deadline: Deadline): Promise<void> {
    if (handle.instanceId !== undefined) await this.look(handle, deadline);
  }

  /** Resolves once the name is free, or belongs to another incarnation. */
  async destroy(handle: SandboxHandle, deadline: Deadline): Promise<void> {
    let isSent = false;
    // The id is read before each attempt: after a lost answer the name may have been taken anew.
    await this.#client.retry(deadline, async () => {
      const look = isSent || handle.instanceId !== undefined;
      if (look && (await this.#isGone(handle, deadline).catch(isSent ? mayHaveActed : onlyAsked))) return;
      isSent = true;
      const answer = await this.#client.send({ method: 'DELETE', path: spritePath(handle.name), deadline });
      if (!answer.ok && answer.status !== 404 && answer.status !== 410) throw answerError(answer);
    });
    await this.#client.retry(
      deadline,
      async () => {
        if (await this.#isGone(handle, deadline).catch(mayHaveActed)) return;
        throw unconfirmed('the deletion');
      },
      GONE_ATTEMPTS,
    );
  }

  /** Another one under that name means that this one is gone. */
  async #isGone({ name, instanceId }: SandboxHandle, deadline: Deadline): Promise<boolean> {
    const sprite = await this.find(name, deadline);
    return sprite === undefined || isAnother(sprite, instanceId);
  }

  async #post(name: string, deadline: Deadline): Promise<HttpAnswer> {
    const auth = this.#client.options.publicUrls ? 'public' : 'sprite';
    return this.#client.send({
      method: 'POST',
      path: '/v1/sprites',
      json: { name, url_settings: { auth } },
      deadline,
      maxBytes: 64 * 1024,
    });
  }

  /** `undefined`: there is none, or that could not be told. */
  #look(name: string, deadline: Deadline): Promise<SpriteResource | undefined> {
    return this.find(name, deadline).catch(() => undefined);
  }

  /** A 400, or a page with 409, leaves open why: the one that has the name, if that is the reason. Nothing was made. */
  async #refused({ status }: HttpAnswer, name: string, deadline: Deadline): Promise<SpriteResource | undefined> {
    if (status !== 400 && status !== 409) return undefined;
    return this.find(name, deadline).catch((error: unknown) => {
      throw error instanceof SandboxError && error.code === 'aborted'
        ? error.with({ effect: 'none' })
        : unconfirmed('why the creation was refused', error).with({ effect: 'none' });
    });
  }

  async #adopt(name: string, deadline: Deadline): Promise<SpriteResource> {
    const sprite = await this.find(name, deadline);
    // Deleted since; another attempt makes it.
    if (sprite === undefined) throw unconfirmed('the creation');
    return sprite;
  }

  /** The sprite is there either way: that its URL is not open is no reason to fail. */
  async #open(name: string, deadline: Deadline): Promise<void> {
    try {
      const answer = await this.#client.sendAgain({
        method: 'PUT',
        path: spritePath(name),
        json: { url_settings: { auth: 'public' } },
        deadline,
      });
      if (!answer.ok) throw answerError(answer);
    } catch (error) {
      this.#logger.warn(`the URL of sprite '${name}' could not be made public: ${(error as Error).message}`);
    }
  }
}

/** @throws {SandboxError} `provider` / `malformed_reply`: the service does not say which one it is */
function isAnother({ id }: SpriteResource, instanceId: string | undefined): boolean {
  if (instanceId === undefined) return false;
  if (id === undefined) throw malformedReply('the id of the sprite');
  return id !== instanceId;
}

/** Of a creation: where no sprite is named there is none to be missing. */
function refusal(answer: HttpAnswer): SandboxError {
  return answer.status === 404 || answer.status === 410 ? malformedReply('the creation') : answerError(answer);
}

function resourceIn(answer: HttpAnswer, name: string): SpriteResource {
  if (!answer.ok) throw answerError(answer);
  const sprite = spriteResource(answer.json(), name);
  if (sprite === undefined) throw malformedReply('the sprite');
  return sprite;
}
