import { randomUUID } from 'node:crypto';
import type { ProcessEntry } from '#libs/process';
import type { EmulatorRoot } from '../kit/emulator-root.js';
import type { EmulatedProcess, ProcessEvents, ProcessSpec } from '../kit/emulated-process.js';
import type { Processes, StartFailure } from '../kit/processes.js';
import { SandboxDisk } from '../kit/sandbox-disk.js';
import { Timers } from '../kit/timers.js';
import type { CreateRequest } from './create-request.js';
import { Intervals } from './intervals.js';
import { Lifecycle } from './lifecycle.js';
import type { Machine } from './machine.js';
import { NO_NETWORK_RULES, type Network } from './network.js';
import type { DaytonaSettings } from './options.js';
import { PreviewTokens } from './preview-tokens.js';
import { Ptys } from './ptys.js';
import { Sessions } from './sessions.js';
import { gone } from './running.js';
import { shellPath } from './shell.js';

/** What a sandbox is given of the emulator. */
export interface SandboxHost {
  readonly settings: DaytonaSettings;
  readonly root: EmulatorRoot;
  readonly closing: AbortSignal;
  /** After each change of what the listing tells of it. */
  changed(sandbox: Sandbox): void;
}

/** One machine of the emulated service. */
export class Sandbox implements Machine {
  readonly id = randomUUID();
  name: string;
  labels: Readonly<Record<string, string>>;
  public: boolean;
  network: Network;
  cpu: number;
  memory: number;
  disk: number;
  readonly createdAt = new Date();
  updatedAt = this.createdAt;
  lastActivityAt = this.createdAt;
  readonly settings: DaytonaSettings;
  readonly processes: Processes;
  readonly files: SandboxDisk;
  readonly timers = new Timers();
  readonly lifecycle: Lifecycle;
  readonly intervals: Intervals;
  readonly tokens = new PreviewTokens();
  readonly sessions: Sessions;
  readonly ptys: Ptys;
  readonly shell: string;
  /** Calls to the toolbox that still find it booting. */
  bootLeft = 0;
  /** Its daemon is gone though it is called started. */
  zombie = false;
  /** Calls to the toolbox that are open. */
  users = 0;
  #up = new AbortController();

  constructor(
    readonly request: CreateRequest,
    private readonly host: SandboxHost,
  ) {
    const { settings, root } = host;
    this.settings = settings;
    this.processes = root.processes;
    this.name = request.name ?? this.id;
    this.labels = request.labels;
    this.public = request.public;
    this.network = { ...NO_NETWORK_RULES, ...request.network };
    ({ cpu: this.cpu, memory: this.memory, disk: this.disk } = request.size);
    this.files = new SandboxDisk(root.fresh(), '/home/daytona');
    this.shell = shellPath(settings.shell);
    this.lifecycle = new Lifecycle(this.timers, settings.alternatives.conflictStatus, () => this.changed());
    this.intervals = new Intervals(request.intervals, settings.minuteMs, this.timers);
    this.sessions = new Sessions(this);
    this.ptys = new Ptys(this);
  }

  /** Aborted when its processes end: what waits for them must not. */
  get down(): AbortSignal {
    return this.#up.signal;
  }

  get daemonVersion(): string {
    return this.settings.alternatives.daemon === 'current' ? 'v0.205.1' : 'v0.190.0';
  }

  /** Its processes may run from here on. */
  boot(): void {
    this.#up = new AbortController();
    this.bootLeft = this.settings.bootRequests;
    this.zombie = false;
    this.tokens.rotate();
  }

  /** Ends all its processes and forgets what its daemon knew; the disk stays. */
  async halt(force: boolean): Promise<void> {
    this.#up.abort(new SandboxDown());
    this.sessions.forget();
    this.ptys.forget();
    const { directory } = this.files;
    if (!force) {
      await this.processes.signalAll(directory, 'SIGTERM');
      const mine = ({ directoryMarker }: ProcessEntry) => directoryMarker === directory;
      await gone(mine, this.settings.stopGraceMs, this.closing);
    }
    await this.processes.stopAll(directory);
  }

  get closing(): AbortSignal {
    return this.host.closing;
  }

  async run(spec: ProcessSpec, events: ProcessEvents): Promise<EmulatedProcess | StartFailure> {
    const { down } = this;
    if (down.aborted) throw new SandboxDown();
    const started = await this.processes.start(this.files.directory, spec, events);
    if (!down.aborted || 'failed' in started) return started;
    await started.stop({ signal: 'SIGKILL', graceMs: 0 });
    throw new SandboxDown();
  }

  /** The processes have to be gone. */
  async removeDisk(): Promise<void> {
    await this.files.remove();
  }

  touch(): void {
    this.lastActivityAt = new Date();
    this.host.changed(this);
  }

  changed(): void {
    this.updatedAt = new Date();
    this.host.changed(this);
  }

  /** Ends what waits for it, without a trace: the emulator closes. */
  close(): void {
    this.timers.close();
    this.#up.abort(new SandboxDown());
  }
}

/** Why a call to the toolbox got no answer: its sandbox went down meanwhile. */
export class SandboxDown extends Error {}
