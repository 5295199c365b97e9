import { Injectable, Optional } from '@nestjs/common';
import {
  SandboxAdapter,
  sandboxHandle,
  type AttachRequest,
  type CallOptions,
  type ExecRequest,
  type ExecResult,
  type FileEntry,
  type FileStat,
  type NetworkPolicy,
  type SandboxCapability,
  type SandboxCommand,
  type SandboxHandle,
  type SandboxInfo,
  type SandboxSession,
  type SandboxTraits,
  type SpawnRequest,
  type TerminateRequest,
  type WriteFileRequest,
} from '#libs/contract';
import { withinDeadline, type Deadline } from '../common/deadline.js';
import { notSupported } from '../common/not-supported.js';
import { checkSandboxName } from '../common/sandbox-name.js';
import { SeenExits } from '../common/seen-exits.js';
import { parseSessionId } from '../common/session-id.js';
import { StdinOwners } from '../common/stdin-owners.js';
import { attachInSandbox } from './e2b.attach.js';
import { E2bControl } from './e2b.control.js';
import { changedNothing } from './e2b.errors.js';
import { execInSandbox } from './e2b.exec.js';
import { E2bFiles, gatherFile } from './e2b.files.js';
import { hostOf, type E2bMachine } from './e2b.machine.js';
import { E2bMachines } from './e2b.machines.js';
import { E2bNames } from './e2b.names.js';
import { E2bOptions } from './e2b.options.js';
import { applyPolicy } from './e2b.policy.js';
import { E2bResidents } from './e2b.residents.js';
import { listedSessions, liveProcesses } from './e2b.sessions.js';
import { spawnInSandbox } from './e2b.spawn.js';
import { suspendSandbox } from './e2b.suspend.js';
import { terminateInSandbox } from './e2b.terminate.js';

/**
 * Sandboxes on E2B. The service has no names: a sandbox carries its own in its metadata, and is found by that; those that
 * something else made are not seen. Of two creators of one name the sandbox of one stays, and both get it.
 *
 * A sandbox lives for the time that it was given, then the service pauses it. While a command of it is read here, that
 * time is renewed; any call into a sandbox that is paused wakes it, except `get`, `destroy` and `listAllNames`. Its
 * processes survive a pause, and so do the commands that are read: after `suspend` they wait until it runs again.
 *
 * Their output is kept in the sandbox, in `~/.nestjs-sandbox`, without a bound while they run; of ended ones the newest
 * 100 that are detachable and the newest 20 others are kept. Destroying the sandbox deletes all of it. A command that is
 * not detachable lives on as well when nobody reads it, though it cannot be attached.
 *
 * A write to stdin resolves when the pipe of the process took it. One that it does not take within five minutes fails
 * `unavailable`, and nobody knows how much of it was taken.
 *
 * There are no checkpoints: the service restores a snapshot only into another sandbox.
 */
@Injectable()
export class E2bAdapter extends SandboxAdapter {
  override readonly capabilities: ReadonlySet<SandboxCapability> = new Set([
    'suspend',
    'attach',
    'terminate_session',
    'files',
    'tty',
    'network_policy',
    'public_url',
    'create_new',
  ] as const);
  override readonly traits: SandboxTraits = Object.freeze({
    sessionsOnSuspend: 'survive',
    parks: 'on_request',
    atomicWrites: true,
    listing: 'account',
    exactIncarnations: true,
  });
  readonly #control: E2bControl;
  readonly #names: E2bNames;
  readonly #residents: E2bResidents;
  readonly #machines: E2bMachines;
  readonly #files = new E2bFiles();
  readonly #owners = new StdinOwners();
  readonly #seen = new SeenExits();

  /** @param options without them, what the environment says */
  constructor(@Optional() options: E2bOptions = new E2bOptions({})) {
    super('e2b');
    this.#control = new E2bControl(options);
    this.#names = new E2bNames(this.#control);
    this.#residents = new E2bResidents(this.#control);
    this.#machines = new E2bMachines(this.#control, this.#names, this.#residents);
  }

  /** What is in use at this moment. */
  stats(): { readonly sandboxesInUse: number; readonly openStreams: number; readonly stdinOwners: number } {
    const { size: sandboxesInUse, openStreams } = this.#residents;
    return { sandboxesInUse, openStreams, stdinOwners: this.#owners.size };
  }

  protected override checkName(name: string): void {
    checkSandboxName(name);
  }

  protected override doCreate(name: string, options: CallOptions): Promise<SandboxHandle> {
    return this.#changing(options, async (deadline) => {
      const resource = await this.#names.create(name, deadline);
      return this.#machines.keep(sandboxHandle(this.provider, name), resource);
    });
  }

  protected override doCreateNew(name: string, options: CallOptions): Promise<SandboxHandle> {
    return this.#changing(options, async (deadline) => {
      const resource = await this.#names.createNew(name, deadline);
      return this.#machines.keep(sandboxHandle(this.provider, name, resource.id), resource);
    });
  }

  protected override doGet(handle: SandboxHandle, options: CallOptions): Promise<SandboxInfo> {
    return this.#within(options, async (deadline) => {
      const { state, raw } = await this.#names.get(handle, deadline);
      return { status: state, raw };
    });
  }

  protected override doDestroy(handle: SandboxHandle, options: CallOptions): Promise<void> {
    return this.#changing(options, async (deadline) => {
      const gone = await this.#names.destroy(handle, deadline);
      for (const id of gone) this.#residents.unpark(id);
      this.#machines.forget(handle);
    });
  }

  protected override doListAllNames(options: CallOptions): Promise<string[]> {
    return this.#within(options, (deadline) => this.#names.listNames(deadline));
  }

  protected override doSuspend(handle: SandboxHandle, options: CallOptions): Promise<void> {
    return this.#changing(options, async (deadline) => {
      const sandbox = await this.#names.get(handle, deadline).catch(changedNothing);
      await suspendSandbox(this.#control, this.#residents, sandbox, deadline);
    });
  }

  protected override doResume(handle: SandboxHandle, options: CallOptions): Promise<SandboxHandle> {
    return this.#changing(options, async (deadline) => {
      await this.#machines.within(handle, deadline, (machine) => machine.wake(deadline));
      return sandboxHandle(this.provider, handle.name, handle.instanceId);
    });
  }

  protected override doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void> {
    return this.#within(request, async (deadline) => {
      const file = await gatherFile(request, deadline);
      await this.#machines.within(handle, deadline, (machine) => this.#files.write(machine, file, deadline));
    });
  }

  protected override doReadFile(handle: SandboxHandle, path: string, options: CallOptions): Promise<Uint8Array> {
    return this.#inside(handle, options, (machine, deadline) => this.#files.read(machine, path, deadline));
  }

  protected override doListFiles(handle: SandboxHandle, path: string, options: CallOptions): Promise<FileEntry[]> {
    return this.#inside(handle, options, (machine, deadline) => this.#files.list(machine, path, deadline));
  }

  protected override doStatFile(handle: SandboxHandle, path: string, options: CallOptions): Promise<FileStat> {
    return this.#inside(handle, options, (machine, deadline) => this.#files.stat(machine, path, deadline));
  }

  protected override doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
    return execInSandbox(this.#machines, this.#owners, this.#control.startTimeoutMs, handle, request);
  }

  protected override async doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
    const spawn = (machine: E2bMachine, deadline: Deadline): Promise<SandboxCommand> =>
      spawnInSandbox(machine, this.#owners, handle, request, deadline);
    return this.#seen.watch(await this.#inside(handle, request, spawn, this.#control.startTimeoutMs));
  }

  protected override doListSessions(handle: SandboxHandle, options: CallOptions): Promise<SandboxSession[]> {
    return this.#inside(handle, options, async (machine, deadline) => {
      const sessions = listedSessions(await liveProcesses(machine, deadline));
      return this.#seen.others(handle, sessions);
    });
  }

  protected override async doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
    const attach = (machine: E2bMachine, deadline: Deadline): Promise<SandboxCommand> =>
      attachInSandbox(machine, this.#owners, handle, request, deadline);
    return this.#seen.watch(await this.#inside(handle, request, attach, this.#control.startTimeoutMs));
  }

  protected override async doTerminateSession(handle: SandboxHandle, request: TerminateRequest): Promise<void> {
    await terminateInSandbox(this.#machines, handle, request);
    // What others started may get the same id again.
    if (parseSessionId(request.sessionId)) this.#seen.add(handle, request.sessionId);
  }

  /** Names cover the ports of the web, addresses all. It binds new connections. */
  protected override doApplyNetworkPolicy(
    handle: SandboxHandle,
    policy: NetworkPolicy,
    options: CallOptions,
  ): Promise<void> {
    return this.#changing(options, (deadline) =>
      this.#machines.within(handle, deadline, (machine) => applyPolicy(machine, policy, deadline)),
    );
  }

  /** Whether anything listens is not asked. */
  protected override doPublicUrl(handle: SandboxHandle, port: number, options: CallOptions): Promise<string> {
    return this.#inside(handle, options, async (machine, deadline) => {
      const sandbox = await machine.running(deadline);
      if (!sandbox.isPublic) throw notSupported('what listens in the sandbox is not open to everyone');
      const url = hostOf(this.#control, port, sandbox);
      if (url === undefined) throw notSupported('the domain of the sandboxes is not known: set E2B_DOMAIN');
      return url;
    });
  }

  #inside<T>(
    handle: SandboxHandle,
    options: CallOptions,
    work: (machine: E2bMachine, deadline: Deadline) => Promise<T>,
    timeoutMs?: number,
  ): Promise<T> {
    const inside = (deadline: Deadline): Promise<T> =>
      this.#machines.within(handle, deadline, (machine) => work(machine, deadline));
    return this.#within(options, inside, timeoutMs);
  }

  #changing<T>(options: CallOptions, work: (deadline: Deadline) => Promise<T>): Promise<T> {
    return this.#within(options, work, this.#control.changeTimeoutMs);
  }

  #within<T>(
    { signal }: CallOptions,
    work: (deadline: Deadline) => Promise<T>,
    timeoutMs: number = this.#control.options.timeoutMs,
  ): Promise<T> {
    return withinDeadline(timeoutMs, signal, work);
  }
}
