import { Inject, Injectable, Logger, Optional } from '@nestjs/common';
import { HealthIndicatorService, type HealthIndicatorResult } from '@nestjs/terminus';
import { SandboxError } from '#libs/contract';
import { RunnerHost } from '../runner/runner-host.js';
import type { RunnerStatsSource } from '../runner/runner-stats.js';
import { RUNNER_STATS } from '../runner/runner.tokens.js';
import { SandboxService } from '../sandbox/sandbox.service.js';
import { TimeoutError, within } from './within.js';

const DEFAULTS = { timeoutMs: 5_000 } as const;

/** Of {@link SandboxHealthIndicator.isHealthy}. */
export interface SandboxHealthOptions {
  /**
   * Providers to ask for the names of their sandboxes: it proves that they can be reached and take the credential.
   *
   * @default none
   */
  readonly providers?: readonly string[];
  /** For each answer; what takes longer counts as down. @default 5 000 */
  readonly timeoutMs?: number;
}

/** What the health page shows beside up or down: counts and nothing else. */
export interface SandboxHealthData {
  /** Runners that are online; absent when the host could not tell. */
  readonly runners?: number;
  /** The platform takes no new calls. */
  readonly draining?: boolean;
  readonly providers?: Readonly<Record<string, 'up' | 'down'>>;
}

/**
 * A Terminus health indicator. With `RunnerModule` in the application it is down while the host of runners does not
 * answer and from the beginning of a drain on; no runner being online is no fault of the platform. Why a part is down
 * is logged, once per change, and not shown.
 *
 * A provider beside the controller that uses it, with `TerminusModule` and, unless that is global, `SandboxModule`
 * imported there.
 */
@Injectable()
export class SandboxHealthIndicator {
  readonly #log = new Logger(SandboxHealthIndicator.name);
  /** Why a part is down, by its name. */
  readonly #down = new Map<string, string>();

  constructor(
    private readonly indicators: HealthIndicatorService,
    @Optional() private readonly sandboxes?: SandboxService,
    @Optional() private readonly host?: RunnerHost,
    @Optional() @Inject(RUNNER_STATS) private readonly gateway?: RunnerStatsSource,
  ) {}

  /**
   * Never rejects because something is down.
   *
   * @param key under which the health page shows the result
   * @throws {SandboxError} `invalid`: a provider that is not configured, or nothing to look at
   */
  async isHealthy<const Key extends string>(
    key: Key,
    { providers = [], timeoutMs = DEFAULTS.timeoutMs }: SandboxHealthOptions = {},
  ): Promise<HealthIndicatorResult<Key>> {
    this.#check(providers);
    const [runners, ...answers] = await Promise.all([
      this.#runners(timeoutMs),
      ...providers.map((provider) => this.#answers(provider, timeoutMs)),
    ]);
    const draining = this.gateway?.stats().draining;
    const states = providers.map((provider, i) => [provider, answers[i] ? 'up' : 'down'] as const);
    const data: SandboxHealthData = {
      ...(runners !== undefined && { runners }),
      ...(draining !== undefined && { draining }),
      ...(providers.length > 0 && { providers: Object.fromEntries(states) }),
    };
    const healthy = (this.host === undefined || runners !== undefined) && draining !== true && answers.every(Boolean);
    const session = this.indicators.check(key);
    return healthy ? session.up({ ...data }) : session.down({ ...data });
  }

  /** A health page that looked at nothing would be green for ever. */
  #check(providers: readonly string[]): void {
    if (providers.length === 0 && this.host === undefined) {
      throw misuse('nothing to look at: pass "providers", or import RunnerModule.forRoot()');
    }
    if (providers.length > 0 && this.sandboxes === undefined) {
      throw misuse('no SandboxService: import SandboxModule where the indicator is provided, or make it global');
    }
    for (const provider of providers) this.sandboxes?.capabilities(provider);
  }

  #runners(timeoutMs: number): Promise<number | undefined> {
    const { host } = this;
    return host === undefined
      ? Promise.resolve(undefined)
      : this.#ask('the host of runners', timeoutMs, async () => (await host.online()).length);
  }

  async #answers(provider: string, timeoutMs: number): Promise<boolean> {
    const names = await this.#ask(`provider ${provider}`, timeoutMs, (signal) =>
      (this.sandboxes as SandboxService).listAllNames(provider, { signal }),
    );
    return names !== undefined;
  }

  async #ask<T>(part: string, timeoutMs: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    try {
      const answer = await within(timeoutMs, ask);
      if (this.#down.delete(part)) this.#log.log(`${part} is up again`);
      return answer;
    } catch (error) {
      const why = reasonOf(error);
      if (this.#down.get(part) !== why) this.#log.warn(`${part} is down: ${why}`);
      this.#down.set(part, why);
      return undefined;
    }
  }
}

/** An error of somebody else's may say anything, so only its class is told. */
function reasonOf(error: unknown): string {
  if (error instanceof TimeoutError) return error.message;
  if (error instanceof SandboxError) return error.detail === undefined ? error.code : `${error.code} / ${error.detail}`;
  return error instanceof Error ? error.name : typeof error;
}

function misuse(message: string): SandboxError {
  return new SandboxError('invalid', { detail: 'argument', message: `SandboxHealthIndicator: ${message}` });
}
