import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import type { EmulatorRoot } from '../kit/emulator-root.js';
import { SandboxDisk } from '../kit/sandbox-disk.js';
import { Timers } from '../kit/timers.js';
import { Checkpoints } from './checkpoints.js';
import type { SpritesSettings } from './options.js';
import type { PublicUrl } from './public-url.js';
import { Power } from './power.js';
import { goingDown } from './refusals.js';
import { Sessions } from './sessions.js';

export interface UrlSettings {
  readonly auth: string;
  readonly private_access?: string;
}

/** One rule of a network policy, as the API has it. */
export interface PolicyRule {
  readonly domain?: string;
  readonly action?: string;
  readonly include?: string;
}

/** One machine of the emulated service. */
export class Sprite {
  readonly id: string;
  readonly disk: SandboxDisk;
  readonly power: Power;
  readonly sessions: Sessions;
  readonly checkpoints: Checkpoints;
  readonly timers = new Timers();
  readonly createdAt = new Date();
  updatedAt = this.createdAt;
  urlSettings: UrlSettings = { auth: 'sprite', private_access: 'admins' };
  labels: readonly string[] = [];
  environment: Readonly<Record<string, string>> | undefined;
  policy: readonly PolicyRule[] = [];
  url: string;
  publicUrl: PublicUrl | undefined;
  /** Calls that still find it booting. */
  bootLeft: number;
  /** Execs that still find it restarting. */
  restartLeft = 0;

  constructor(
    readonly name: string,
    readonly settings: SpritesSettings,
    private readonly root: EmulatorRoot,
    events: { readonly admit: (sprite: Sprite) => void; readonly closing: AbortSignal },
  ) {
    const uuid = randomUUID();
    this.id = settings.alternatives.spriteId === 'uuid' ? uuid : `sprite-${uuid}`;
    this.url = `https://${name}-${randomBytes(3).toString('hex').slice(0, 5)}.sprites.app`;
    this.bootLeft = settings.bootRequests;
    this.disk = new SandboxDisk(root.fresh(), '/home/sprite');
    const own = {
      admit: () => events.admit(this),
      paused: () => this.sessions.drop(),
      lost: async () => await this.#lost(),
    };
    this.power = new Power(this.disk.directory, root.processes, this.timers, settings, own, events.closing);
    this.sessions = new Sessions(this, root.processes);
    this.checkpoints = new Checkpoints(this.disk, root.fresh());
  }

  /** As `SandboxDisk.change`. @throws {Refusal} 503: it is going down */
  async change<T>(act: () => Promise<T>): Promise<T> {
    if (this.disk.sealed) throw goingDown();
    return await this.disk.change(act);
  }

  /** Ends its processes and removes its files. */
  async destroy(): Promise<void> {
    this.disk.seal();
    this.power.end();
    this.sessions.end();
    await this.publicUrl?.close();
    await this.endProcesses();
    this.timers.close();
    await this.disk.remove();
    await this.checkpoints.remove();
  }

  async endProcesses(): Promise<void> {
    this.sessions.forget();
    await this.root.processes.stopAll(this.disk.directory);
  }

  /** A cold start keeps the disk, though not /tmp. */
  async #lost(): Promise<void> {
    await this.endProcesses();
    if (this.disk.sealed) return;
    await this.disk.change(async () => {
      await rm(this.disk.tmp, { recursive: true, force: true });
      await mkdir(this.disk.tmp, { recursive: true });
    });
  }
}
