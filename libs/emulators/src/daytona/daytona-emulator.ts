import type { CallLog } from '../kit/call-log.js';
import type { EmulatorRoot } from '../kit/emulator-root.js';
import type { EmulatorServer } from '../kit/emulator-server.js';
import type { Faults } from '../kit/faults.js';
import { startServer } from '../kit/start-server.js';
import { ApiRoutes, unknownPath } from './api-routes.js';
import { execute } from './execute.js';
import { addFileRoutes } from './file-routes.js';
import { Fleet } from './fleet.js';
import type { DesiredState, FailingOperation, PlannedFailure, SandboxState } from './lifecycle.js';
import { addLogRoutes } from './log-routes.js';
import type { Network } from './network.js';
import { Operations } from './operations.js';
import { settingsOf, type DaytonaEmulatorOptions } from './options.js';
import { addPreviewRoutes } from './preview-routes.js';
import { addPtyRoutes } from './pty-routes.js';
import { addSandboxRoutes } from './sandbox-routes.js';
import type { Sandbox } from './sandbox.js';
import { addSessionRoutes } from './session-routes.js';
import { addSnapshotRoutes } from './snapshot-routes.js';
import { ToolboxRoutes } from './toolbox-routes.js';

/** What a test may know of a sandbox, beyond what the API tells. */
export interface DaytonaSandboxView {
  readonly id: string;
  readonly name: string;
  readonly state: SandboxState;
  readonly desiredState: DesiredState;
  readonly network: Network;
  /** Where `/` and `/home/daytona` of the sandbox lie on this machine. */
  readonly directory: string;
  readonly home: string;
  /** Of the shells of its sessions and terminals. */
  readonly pids: readonly number[];
}

/** The Daytona API and its toolbox on a free port of 127.0.0.1, over processes and files of this machine. */
export class DaytonaEmulator {
  #closed: Promise<void> | undefined;

  private constructor(
    private readonly server: EmulatorServer,
    private readonly root: EmulatorRoot,
    private readonly fleet: Fleet,
  ) {}

  static async start(options: Partial<DaytonaEmulatorOptions> = {}): Promise<DaytonaEmulator> {
    const settings = settingsOf(options);
    const { server, root } = await startServer({ notFound: (call) => unknownPath(call, settings) });
    const fleet = new Fleet(settings, root, server.url, server.closing);
    const operations = new Operations(fleet);
    const api = new ApiRoutes(server, settings);
    addSandboxRoutes(api, fleet, operations);
    addPreviewRoutes(api, fleet);
    addSnapshotRoutes(api, fleet);
    const toolbox = new ToolboxRoutes(server, fleet, operations.upkeep);
    toolbox.add('POST', '/process/execute', execute);
    addSessionRoutes(toolbox);
    addLogRoutes(toolbox);
    addPtyRoutes(toolbox, settings.alternatives.daemon === 'current');
    addFileRoutes(toolbox, settings);
    addInfoRoutes(toolbox);
    toolbox.addUnknown();
    return new DaytonaEmulator(server, root, fleet);
  }

  /** The base URL of the control plane. */
  get url(): string {
    return `${this.server.url}/api`;
  }

  get token(): string {
    return this.fleet.settings.token;
  }

  /** Every call so far. */
  get calls(): CallLog {
    return this.server.calls;
  }

  get faults(): Faults {
    return this.server.faults;
  }

  /** Names of the sandboxes that exist, those that are being destroyed included. */
  get names(): readonly string[] {
    return this.fleet.all.map(({ name }) => name);
  }

  /** By id or name; `undefined` when there is none. */
  sandbox(idOrName: string): DaytonaSandboxView | undefined {
    const sandbox = this.fleet.find(idOrName);
    if (!sandbox) return undefined;
    const { id, name, lifecycle, network, files } = sandbox;
    const { state, desired: desiredState } = lifecycle;
    const { directory, home } = files;
    return { id, name, state, desiredState, network, directory, home, pids: pidsOf(sandbox) };
  }

  /** Goes through the rest of the transition that is under way, if one is, without waiting. */
  async finish(idOrName: string): Promise<void> {
    await this.fleet.get(idOrName).lifecycle.finish();
  }

  /** Lets the next such operation fail: a sandbox ends in an error, a snapshot is broken while nothing tells it. */
  failNext(operation: FailingOperation, failure: PlannedFailure): void {
    this.fleet.plan(operation, failure);
  }

  /** Ends the daemon with all processes, as running out of memory does: the sandbox is called started on. */
  async killDaemon(idOrName: string): Promise<void> {
    const sandbox = this.fleet.get(idOrName);
    sandbox.zombie = true;
    await sandbox.halt(true);
  }

  /** Ends every connection, process and timer, and removes every file. Any number of times, in any state. */
  async close(): Promise<void> {
    this.#closed ??= this.#close();
    await this.#closed;
  }

  async #close(): Promise<void> {
    this.fleet.close();
    await this.server.close();
    await this.fleet.quiet();
    await this.root.close();
  }
}

function pidsOf({ sessions, ptys }: Sandbox): number[] {
  return [...sessions.all.map(({ pid }) => pid), ...ptys.all.flatMap(({ pid }) => pid ?? [])];
}

function addInfoRoutes(toolbox: ToolboxRoutes): void {
  toolbox.add('GET', '/version', async ({ sandbox }) => {
    return { status: 200, json: { version: sandbox.daemonVersion } };
  });
  for (const path of ['/work-dir', '/user-home-dir']) {
    toolbox.add('GET', path, async ({ sandbox }) => ({ status: 200, json: { dir: sandbox.files.homeName } }));
  }
}
