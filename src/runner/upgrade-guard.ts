import type { IncomingMessage } from 'node:http';
import { Logger } from '@nestjs/common';
import { bearerOf } from './dial-query.js';
import { isRunnerId } from './names.js';
import type { AuthenticatedRunner, RunnerAuthenticator, RunnerRefusal } from './runner-authenticator.js';

const ANSWER_WITHIN_MS = 30_000;

/** Refuses or admits the upgrade, as `ws` expects to be told. */
export type UpgradeAnswer = (ok: boolean, status?: number, reason?: string, headers?: Record<string, string>) => void;

/** Asks the authenticator about each dial before it is upgraded, and keeps its answer for the connection. */
export class UpgradeGuard {
  readonly #log = new Logger('RunnerGateway');
  readonly #admitted = new WeakMap<IncomingMessage, AuthenticatedRunner>();
  #pending = 0;
  #refused = 0;
  #draining = false;

  constructor(
    private readonly authenticator: RunnerAuthenticator,
    private readonly maxPending: number,
  ) {}

  /** Dials that wait for the authenticator. */
  get pending(): number {
    return this.#pending;
  }

  /** Dials refused so far. */
  get refused(): number {
    return this.#refused;
  }

  /** Refuses everyone from here on with 503. */
  drain(): void {
    this.#draining = true;
  }

  /** Answers exactly once. */
  verify(request: IncomingMessage, answer: UpgradeAnswer): void {
    void this.#decide(request).then((decision) => {
      const outcome = this.#draining ? DRAINING : decision;
      if (!('refuse' in outcome)) {
        this.#admitted.set(request, outcome);
        return answer(true);
      }
      this.#refused++;
      return answer(false, outcome.refuse, outcome.reason, {
        'Content-Type': 'text/plain; charset=utf-8',
        ...(outcome.refuse === 401 && { 'WWW-Authenticate': 'Bearer' }),
      });
    });
  }

  /** Who was admitted with this request. */
  admitted(request: IncomingMessage): AuthenticatedRunner | undefined {
    return this.#admitted.get(request);
  }

  /** Never rejects. */
  async #decide(request: IncomingMessage): Promise<AuthenticatedRunner | RunnerRefusal> {
    if (this.#draining) return DRAINING;
    if (this.#pending >= this.maxPending) return BUSY;
    this.#pending++;
    let timer: NodeJS.Timeout | undefined;
    try {
      const late = new Promise<RunnerRefusal>((resolve) => {
        timer = setTimeout(resolve, ANSWER_WITHIN_MS, FAILED);
        timer.unref();
      });
      return this.#checked(await Promise.race([this.authenticator.authenticate(request, bearerOf(request)), late]));
    } catch (error) {
      // The message could hold what the authenticator was given; the class of the error and its place do not.
      this.#log.error(
        `The authenticator failed: ${error instanceof Error ? error.name : typeof error}`,
        framesOf(error),
      );
      return FAILED;
    } finally {
      clearTimeout(timer);
      this.#pending--;
    }
  }

  #checked(decision: AuthenticatedRunner | RunnerRefusal): AuthenticatedRunner | RunnerRefusal {
    if ('refuse' in decision) {
      this.#log.debug(`Refused a dial with ${decision.refuse}: ${decision.reason}`);
      return decision;
    }
    if (isRunnerId(decision.runnerId)) return { ...decision, runnerId: decision.runnerId.toLowerCase() };
    this.#log.error('The authenticator gave a runnerId that is not a dashed UUID');
    return FAILED;
  }
}

/** Where it was thrown. */
function framesOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const lines = (error.stack ?? '').replace(error.message, '').split('\n');
  return lines.filter((line) => /^ {4}at /.test(line)).join('\n');
}

const DRAINING: RunnerRefusal = { refuse: 503, reason: 'the platform is shutting down' };
const BUSY: RunnerRefusal = { refuse: 503, reason: 'too many dials at once' };
const FAILED: RunnerRefusal = { refuse: 503, reason: 'authentication is not available' };
