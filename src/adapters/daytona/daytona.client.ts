import { setTimeout as delay } from 'node:timers/promises';
import type { SandboxEffect, SandboxError } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { HttpClient, type HttpAnswer } from '../common/http-client.js';
import { ProviderClient } from '../common/provider-client.js';
import { apiError, noApiKey } from './daytona.errors.js';
import type { DaytonaOptions } from './daytona.options.js';

/** Authenticated requests to the control plane, on behalf of one organization. */
export class DaytonaClient extends ProviderClient {
  readonly options: DaytonaOptions;

  constructor(options: DaytonaOptions) {
    super(options.apiUrl, options.retryBaseMs);
    this.options = options;
  }

  override authorization(): { authorization: string } {
    const { apiKey } = this.options;
    if (apiKey === undefined) throw noApiKey();
    return { authorization: `Bearer ${apiKey}` };
  }

  /**
   * Waits between two looks at something that is under way, a little longer each time, and a second at most.
   *
   * @param atLeastMs that is waited for all the same
   * @throws {SandboxError} of the deadline, with `effect`
   */
  async pause(look: number, deadline: Deadline, effect: SandboxEffect, atLeastMs = 0): Promise<void> {
    const ms = Math.min(1000, this.options.retryBaseMs * 1.3 ** Math.min(look, 20));
    await delay(Math.max(ms, atLeastMs), undefined, { signal: deadline.signal }).catch(() => {
      throw deadline.error(effect);
    });
  }

  /** Of a sandbox's toolbox. It is on another host, which the control plane names. */
  toolbox(url: string): HttpClient {
    return new HttpClient(url, () => this.authorization());
  }

  protected override errorOf(answer: HttpAnswer): SandboxError {
    return apiError(answer);
  }
}

/** The path of a sandbox, by its id or its name, or of what belongs to it. */
export function sandboxPath(idOrName: string, ...below: readonly string[]): string {
  return `/sandbox/${[idOrName, ...below].map(encodeURIComponent).join('/')}`;
}
