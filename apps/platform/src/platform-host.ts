import { Injectable } from '@nestjs/common';
import { LocalRunnerHost } from 'nestjs-sandbox/runner';

/** The host of one process, which can also be asked to tell when a runner comes online. */
@Injectable()
export class PlatformHost extends LocalRunnerHost {
  readonly #waiting = new Map<string, (() => void)[]>();

  /** Resolves when that runner is announced online, or already is. */
  async whenOnline(runnerId: string): Promise<void> {
    if ((await this.whereis(runnerId)) !== undefined) return;
    await new Promise<void>((resolve) => {
      this.#waiting.set(runnerId, [...(this.#waiting.get(runnerId) ?? []), resolve]);
    });
  }

  override async presence(runnerId: string, state: 'online' | 'offline', _meta: unknown): Promise<void> {
    if (state !== 'online') return;
    const waiting = this.#waiting.get(runnerId) ?? [];
    this.#waiting.delete(runnerId);
    for (const resolve of waiting) resolve();
  }
}
