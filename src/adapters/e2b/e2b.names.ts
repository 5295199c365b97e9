import { Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError, type SandboxHandle } from '#libs/contract';
import { BoundedMap } from '../common/bounded-map.js';
import type { Deadline } from '../common/deadline.js';
import { mayHaveActed, notProved, unconfirmed } from '../common/failed-answer.js';
import type { HttpAnswer } from '../common/http-client.js';
import { compareClaims, metadataOf, newClaim, type Claim } from './e2b.claim.js';
import { sandboxPath, type E2bControl } from './e2b.control.js';
import { answerError, changedNothing, isMissing, malformedReply, noSandbox } from './e2b.errors.js';
import { listSandboxes } from './e2b.listing.js';
import { isSandboxId, sandboxResource, type SandboxResource } from './e2b.resource.js';

/** How long several sandboxes of one name may be there before one of their makers counts as gone. */
const CONTEST_MS = 3_000;
/** How long the list, and what the service shows of a sandbox, may lag behind what was made or deleted. */
const LISTED_MS = 15_000;
/** The same of one whose answer was lost, so that perhaps there is none. */
const LOST_MS = 2_000;
const FIRST_LOOK_MS = 30;
const MOST_LOOK_MS = 250;
const CREATE_ATTEMPTS = 4;
const MAX_LOSERS = 1000;

/**
 * Makes, finds and deletes sandboxes by name. The service has no names, so nothing stops two creators from making one
 * each. Whoever has made one looks who else has before it says so: of several the earliest claim stays and the others
 * delete their own, unless one of a later claim stays where it is, since its maker was done before the earlier one was
 * there; then that is the one. So nobody loses what it was given. The service may work on a creation long after its
 * answer was lost: what then turns up beside the one that was made in its place has the later claim.
 */
export class E2bNames {
  readonly #control: E2bControl;
  readonly #logger = new Logger('E2bAdapter');
  /** Sandboxes that lost their name to another and stayed, by id: no second time is waited for their makers. */
  readonly #losers = new BoundedMap<string, true>(MAX_LOSERS);

  constructor(control: E2bControl) {
    this.#control = control;
  }

  /** Makes it, or finds the one that is there. */
  create(name: string, deadline: Deadline): Promise<SandboxResource> {
    let claim: Claim | undefined;
    return this.#control.retry(
      deadline,
      async () => {
        const found = await this.find(name, deadline);
        if (found !== undefined) return found;
        const made = (claim = newClaim(claim));
        const own = await this.#post(name, made, deadline).catch((error: unknown) =>
          this.#lookFor(made, error, deadline),
        );
        if (await this.#wins(name, made, own.id, deadline).catch(mayHaveActed)) return own;
        // Nobody was given it.
        await this.#discard(own.id, made, deadline).catch(mayHaveActed);
        const winner = await this.find(name, deadline);
        if (winner === undefined) throw unconfirmed('the creation');
        return winner;
      },
      CREATE_ATTEMPTS,
    );
  }

  /** One attempt. @throws {SandboxError} `already_exists` */
  async createNew(name: string, deadline: Deadline): Promise<SandboxResource> {
    const before = await listSandboxes(this.#control, { name }, deadline).catch(changedNothing);
    if (before.length > 0) throw alreadyExists(name);
    const claim = newClaim();
    const own = await this.#post(name, claim, deadline).catch(async (error: unknown) => {
      // Whoever asks next finds what was made, if anything was. It is adopted by nobody.
      await this.#lookFor(claim, error, deadline).catch(() => {});
      throw error instanceof SandboxError && error.code === 'provider' ? unconfirmed('the creation', error) : error;
    });
    const wins = await this.#wins(name, claim, own.id, deadline).catch(notProved('that no other has the name'));
    if (wins) return own;
    await this.#discard(own.id, claim, deadline).catch(notProved('the deletion of a sandbox that lost its name'));
    if ((await listSandboxes(this.#control, { name }, deadline).catch(changedNothing)).length > 0)
      throw alreadyExists(name);
    throw unconfirmed('the creation').with({ effect: 'none' });
  }

  /** The one of that name. `undefined`: there is none. */
  async find(name: string, deadline: Deadline): Promise<SandboxResource | undefined> {
    const untilMs = performance.now() + CONTEST_MS;
    for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(2 * waitMs, MOST_LOOK_MS)) {
      const all = await listSandboxes(this.#control, { name }, deadline);
      const hits = all.some(({ id }) => !this.#losers.has(id)) ? all.filter(({ id }) => !this.#losers.has(id)) : all;
      if (hits.length <= 1) return hits[0];
      if (performance.now() >= untilMs) {
        this.#logger.warn(`there are ${hits.length} sandboxes '${name}'; the earliest is used`);
        const [winner, ...losers] = hits.toSorted((a, b) => order(a.claim, b.claim));
        for (const { id } of losers) this.#losers.set(id, true);
        return winner;
      }
      await pause(waitMs, deadline);
    }
  }

  /** The sandbox of a handle. @throws {SandboxError} `not_found`, also for another incarnation */
  async get({ name, instanceId }: SandboxHandle, deadline: Deadline): Promise<SandboxResource> {
    const found = await (instanceId === undefined
      ? this.find(name, deadline)
      : this.#incarnation(instanceId, deadline));
    if (found?.name !== name) throw noSandbox(name);
    return found;
  }

  /** Resolves once the name is free, or the incarnation gone. */
  async destroy({ name, instanceId }: SandboxHandle, deadline: Deadline): Promise<readonly string[]> {
    const gone = new Set<string>();
    if (instanceId !== undefined) {
      const found = await this.#incarnation(instanceId, deadline);
      // An id of another name is no incarnation of this one.
      if (found?.name !== name) return [instanceId];
      await this.#delete(instanceId, deadline);
      await deleted(async () => (await this.#control.find(instanceId, deadline)) === undefined, deadline);
      return [instanceId];
    }
    await this.#control.retry(deadline, async () => {
      const hits = await listSandboxes(this.#control, { name }, deadline);
      if (hits.length === 0) return;
      for (const { id } of hits) {
        await this.#delete(id, deadline);
        gone.add(id);
      }
      await deleted(async () => {
        const left = await listSandboxes(this.#control, { name }, deadline);
        if (left.some(({ id }) => !gone.has(id))) throw unconfirmed('the deletion');
        return left.length === 0;
      }, deadline);
    });
    return [...gone];
  }

  /** Those of ours; of sandboxes that something else made, only such as have our marks. */
  async listNames(deadline: Deadline): Promise<string[]> {
    const sandboxes = await listSandboxes(this.#control, {}, deadline);
    return [...new Set(sandboxes.flatMap(({ name }) => (name === undefined ? [] : [name])))];
  }

  async #post(name: string, claim: Claim, deadline: Deadline): Promise<SandboxResource> {
    const { template, ttlSeconds } = this.#control.options;
    const json = {
      templateID: template,
      timeout: ttlSeconds,
      autoPause: true,
      metadata: metadataOf(name, claim),
    };
    const request = { method: 'POST', path: '/sandboxes', json, deadline } as const;
    const answer = await this.#control.sendVersioned(request, { secure: true });
    if (!answer.ok) throw creationError(answer);
    const sandbox = sandboxResource(answer.json());
    if (sandbox === undefined) throw malformedReply('the new sandbox');
    return sandbox;
  }

  /** What was made although its answer was lost. @throws what was thrown, when nothing is found */
  async #lookFor(claim: Claim, error: unknown, deadline: Deadline): Promise<SandboxResource> {
    if (!(error instanceof SandboxError) || error.effect !== 'unknown' || deadline.signal.aborted) throw error;
    const untilMs = performance.now() + LOST_MS;
    for (let waitMs = FIRST_LOOK_MS; performance.now() < untilMs; waitMs = Math.min(2 * waitMs, MOST_LOOK_MS)) {
      const [found] = await listSandboxes(this.#control, { nonce: claim.nonce }, deadline).catch(() => []);
      if (found !== undefined) return found;
      if (deadline.leftMs < waitMs) break;
      await pause(waitMs, deadline);
    }
    throw error;
  }

  /** Whether the sandbox that was made for `claim` is the one of its name. */
  async #wins(name: string, claim: Claim, id: string, deadline: Deadline): Promise<boolean> {
    const sinceMs = performance.now();
    for (let waitMs = FIRST_LOOK_MS; ; waitMs = Math.min(2 * waitMs, MOST_LOOK_MS)) {
      const hits = await listSandboxes(this.#control, { name }, deadline);
      const others = hits.filter((one) => one.claim?.nonce !== claim.nonce);
      const isListed = others.length < hits.length;
      // The service gave the id of another.
      if (isListed && !hits.some((one) => one.id === id)) throw malformedReply('the new sandbox');
      if (others.some((one) => order(one.claim, claim) < 0)) return false;
      if (isListed && others.length === 0) return true;
      const passedMs = performance.now() - sinceMs;
      if (others.length > 0 && passedMs > CONTEST_MS) return false;
      if (!isListed && passedMs > LISTED_MS) throw unconfirmed('the creation');
      await pause(waitMs, deadline);
    }
  }

  /** What has that id. `undefined`: nothing, or nothing can. */
  async #incarnation(id: string, deadline: Deadline): Promise<SandboxResource | undefined> {
    return isSandboxId(id) ? this.#control.find(id, deadline) : undefined;
  }

  /** Deletes what was made for `claim` and nothing else, whatever id the service gave for it. */
  async #discard(id: string, { nonce }: Claim, deadline: Deadline): Promise<void> {
    const found = await this.#control.find(id, deadline);
    if (found === undefined) return;
    if (found.claim?.nonce !== nonce) throw malformedReply('the new sandbox');
    await this.#delete(id, deadline);
  }

  async #delete(id: string, deadline: Deadline): Promise<void> {
    const answer = await this.#control.sendAgain({ method: 'DELETE', path: sandboxPath(id), deadline });
    if (!answer.ok && !isMissing(answer)) throw answerError(answer);
  }
}

/** What nobody of us made was there before. */
function order(a: Claim | undefined, b: Claim | undefined): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  return compareClaims(a, b);
}

/** A template that is missing is not a sandbox that is. */
function creationError(answer: HttpAnswer): SandboxError {
  if (answer.status !== 404) return answerError(answer);
  return new SandboxError('invalid', { effect: 'none', message: 'there is no such template, or no way to make one' });
}

function alreadyExists(name: string): SandboxError {
  return new SandboxError('already_exists', { effect: 'none', message: `there is a sandbox '${name}' already` });
}

/** Resolves once what was deleted is no longer shown. */
async function deleted(isGone: () => Promise<boolean>, deadline: Deadline): Promise<void> {
  const untilMs = performance.now() + LISTED_MS;
  for (let waitMs = FIRST_LOOK_MS; !(await isGone()); waitMs = Math.min(2 * waitMs, MOST_LOOK_MS)) {
    if (performance.now() >= untilMs) throw unconfirmed('the deletion');
    await pause(waitMs, deadline);
  }
}

async function pause(waitMs: number, deadline: Deadline): Promise<void> {
  await delay(waitMs, undefined, { signal: deadline.signal }).catch(() => {
    throw deadline.error('unknown');
  });
}
