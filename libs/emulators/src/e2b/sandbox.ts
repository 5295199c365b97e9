import { randomBytes } from 'node:crypto';
import { copyTree } from '../kit/copy-tree.js';
import type { EmulatorRoot } from '../kit/emulator-root.js';
import type { Exchange } from '../kit/exchange.js';
import { SandboxDisk } from '../kit/sandbox-disk.js';
import type { CreateRequest } from './create-request.js';
import { EnvdProcesses } from './envd-processes.js';
import { FreezableTimers } from './freezable-timers.js';
import { Lifecycle } from './lifecycle.js';
import type { NetworkPolicy } from './network.js';
import type { E2bSettings } from './options.js';
import { UserFiles } from './user-files.js';

const ID_LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';

export interface SandboxEvents {
  /** Before it runs again: throws a `Refusal` when it may not. */
  admit(): void;
  gone(sandbox: Sandbox): void;
  readonly closing: AbortSignal;
}

/** One machine of the emulated service. */
export class Sandbox {
  readonly id = `i${[...randomBytes(20)].map((byte) => ID_LETTERS[byte % ID_LETTERS.length]).join('')}`;
  /** Of envd; only a secured one has it. */
  readonly accessToken: string | undefined;
  readonly trafficToken: string | undefined;
  readonly disk: SandboxDisk;
  readonly clock = new FreezableTimers();
  readonly processes: EnvdProcesses;
  readonly lifecycle: Lifecycle;
  network: NetworkPolicy | undefined;
  allowInternetAccess: boolean | undefined;
  /** `performance.now()` from which on it is listed. */
  readonly listedFrom: number;
  /** Calls into it that carried the API key, which is not meant for it. */
  apiKeysSeen = 0;
  readonly #connections = new Set<Exchange>();

  constructor(
    readonly request: CreateRequest,
    /** The resolved template, and the name it was asked for by. */
    readonly template: { readonly id: string; readonly alias?: string },
    readonly settings: E2bSettings,
    private readonly root: EmulatorRoot,
    private readonly events: SandboxEvents,
  ) {
    const { secure, network, allowInternetAccess, autoPause, autoPauseMemory } = request;
    const { alternatives, listLagMs } = settings;
    this.accessToken = secure ? randomBytes(32).toString('hex') : undefined;
    this.trafficToken = network?.allowPublicTraffic === false ? randomBytes(32).toString('hex') : undefined;
    this.network = network;
    this.allowInternetAccess = allowInternetAccess;
    this.listedFrom = performance.now() + (alternatives.listAfterCreate === 'late' ? listLagMs : 0);
    this.disk = new SandboxDisk(root.fresh(), `/home/${settings.defaultUser}`);
    this.processes = new EnvdProcesses(this, this.disk.directory, root.processes);
    this.lifecycle = new Lifecycle(this, { pause: autoPause, memory: autoPauseMemory }, settings, events.closing);
  }

  get templateId(): string {
    return this.template.id;
  }

  get envVars(): Readonly<Record<string, string>> {
    return this.request.envVars;
  }

  /** The files as a user names them; without a name, the template's own user. */
  filesOf(user: string = this.settings.defaultUser): UserFiles | undefined {
    return this.settings.users.includes(user) ? new UserFiles(this.disk, user) : undefined;
  }

  /** A connection into it, which a pause cuts. */
  connected(exchange: Exchange): void {
    this.#connections.add(exchange);
    exchange.onGone(() => this.#connections.delete(exchange));
  }

  /** A stream that has its own way with a pause. */
  outlivesPause(exchange: Exchange): void {
    this.#connections.delete(exchange);
  }

  /** Lifecycle calls it before it runs again. */
  admit(): void {
    this.events.admit();
  }

  async freeze(): Promise<void> {
    this.clock.freeze();
    this.processes.freeze();
    this.#cutConnections();
    await this.root.processes.signalAll(this.disk.directory, 'SIGSTOP');
  }

  async thaw(): Promise<void> {
    await this.root.processes.signalAll(this.disk.directory, 'SIGCONT');
    this.processes.thaw();
    this.clock.thaw();
  }

  async endProcesses(): Promise<void> {
    this.processes.forget();
    await this.root.processes.stopAll(this.disk.directory);
  }

  async destroy(): Promise<void> {
    this.disk.seal();
    this.clock.clear();
    this.#cutConnections();
    await this.endProcesses();
    await this.disk.remove();
    this.events.gone(this);
  }

  /** Fills a new sandbox. */
  async fillFrom(directory: string): Promise<void> {
    await copyTree(directory, this.disk.directory);
  }

  /** No timer fires from here on. */
  end(): void {
    this.clock.clear();
    this.lifecycle.end();
  }

  #cutConnections(): void {
    for (const exchange of this.#connections) exchange.cut();
    this.#connections.clear();
  }
}
