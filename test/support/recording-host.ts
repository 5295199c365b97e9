import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RunnerLink } from '#libs/protocol';
import { LocalRunnerHost } from '../../src/runner/index.js';
import { until } from './until.js';

/**
 * A host that works like the in-process one, takes its time as a remote one does, and keeps a list of what it was told,
 * in order.
 */
export class RecordingHost extends LocalRunnerHost {
  readonly calls: string[] = [];
  /** The links in the order in which they were registered. */
  readonly links: RunnerLink[] = [];

  override async register(runnerId: string, link: RunnerLink, meta: unknown): Promise<'ok' | 'already_registered'> {
    await nextTurn();
    const answer = await super.register(runnerId, link, meta);
    this.calls.push(answer === 'ok' ? 'register' : `register: ${answer}`);
    if (answer === 'ok') this.links.push(link);
    return answer;
  }

  override async unregister(runnerId: string, link: RunnerLink): Promise<boolean> {
    await nextTurn();
    const acted = await super.unregister(runnerId, link);
    this.calls.push(acted ? 'unregister' : 'unregister: not the registered one');
    return acted;
  }

  override async heartbeat(runnerId: string, link: RunnerLink): Promise<void> {
    await nextTurn();
    await super.heartbeat(runnerId, link);
    this.calls.push('heartbeat');
  }

  override async presence(runnerId: string, state: 'online' | 'offline', meta: unknown): Promise<void> {
    const listed = (await this.online()).some(([id]) => id === runnerId);
    if (listed !== (state === 'online')) this.calls.push(`presence ${state} before the registry told so`);
    await super.presence(runnerId, state, meta);
    this.calls.push(`presence ${state}`);
  }

  /** How often `call` was made. */
  count(call: string): number {
    return this.calls.filter((made) => made === call).length;
  }

  /** Resolves once `call` was made `times` times. */
  async saw(call: string, times = 1, withinMs = 20_000): Promise<void> {
    await until(
      `the host has seen ${times} × ${call}, not only ${this.calls.join(', ')}`,
      () => this.count(call) >= times,
      {
        withinMs,
      },
    );
  }
}
