import { Injectable } from '@nestjs/common';
import type { RunnerLink } from '#libs/protocol';
import { RunnerHost } from './runner-host.js';

/** The host for one platform process: a map in memory. To learn of presence, extend it and override `presence`. */
@Injectable()
export class LocalRunnerHost extends RunnerHost {
  readonly #entries = new Map<string, { readonly link: RunnerLink; readonly meta: unknown }>();

  override async register(runnerId: string, link: RunnerLink, meta: unknown): Promise<'ok' | 'already_registered'> {
    if (this.#entries.has(runnerId)) return 'already_registered';
    this.#entries.set(runnerId, { link, meta });
    return 'ok';
  }

  override async unregister(runnerId: string, link: RunnerLink): Promise<boolean> {
    return this.#entries.get(runnerId)?.link === link && this.#entries.delete(runnerId);
  }

  override async whereis(runnerId: string): Promise<RunnerLink | undefined> {
    return this.#entries.get(runnerId)?.link;
  }

  override async online(): Promise<readonly (readonly [runnerId: string, meta: unknown])[]> {
    return Array.from(this.#entries, ([runnerId, { meta }]) => [runnerId, meta] as const);
  }

  override async heartbeat(_runnerId: string, _link: RunnerLink): Promise<void> {}

  override async presence(_runnerId: string, _state: 'online' | 'offline', _meta: unknown): Promise<void> {}
}
