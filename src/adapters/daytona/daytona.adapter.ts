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
import { BoundedMap } from '../common/bounded-map.js';
import { withinDeadline } from '../common/deadline.js';
import { checkSandboxName } from '../common/sandbox-name.js';
import { attachInDaytona } from './daytona.attach.js';
import { DaytonaClient } from './daytona.client.js';
import {
  LIFECYCLE_TIMEOUT_MS,
  READ_TIMEOUT_MS,
  RESUME_TIMEOUT_MS,
  USE_TIMEOUT_MS,
  type DaytonaContext,
  type InSandbox,
} from './daytona.context.js';
import { execInDaytona } from './daytona.exec.js';
import { listFiles, readFile, statFile, writeFile } from './daytona.files.js';
import { getSandbox } from './daytona.find.js';
import { listSandboxes } from './daytona.listing.js';
import { DaytonaManagement } from './daytona.management.js';
import { DaytonaOptions } from './daytona.options.js';
import { applyPolicy, settingsFor } from './daytona.policy.js';
import { PublicUrls } from './daytona.public-url.js';
import { Rubbish } from './daytona.rubbish.js';
import { listSessions } from './daytona.sessions.js';
import { spawnInDaytona } from './daytona.spawn.js';
import { terminateSession } from './daytona.terminate.js';
import { Toolboxes } from './daytona.toolboxes.js';

const CAPABILITIES: readonly SandboxCapability[] = [
  'suspend',
  'attach',
  'terminate_session',
  'files',
  'tty',
  'network_policy',
  'public_url',
  'create_new',
];

/** The newest are remembered: the list lags behind by seconds. */
const MAX_DESTROYED = 1000;

/**
 * Sandboxes on Daytona. A sandbox is addressed by its name and, where a handle has an `instanceId`, by that alone; what
 * runs in one is addressed by its id, so that a name that is taken anew is never acted on by mistake.
 *
 * A sandbox that does not run is started by whatever uses it, and stands still only when it is suspended: nothing stops
 * it by itself. Sessions end with a suspend. Their output is kept in the sandbox, in `~/.nestjs-sandbox`, without a bound
 * while they run; of ended ones the newest 100 that are detachable and the newest 100 others are kept. Destroying the
 * sandbox deletes all of it. What is neither detachable nor stopped runs on when its command is let go of.
 *
 * The list of names is that of an index of the service, which may lag behind by seconds; what was destroyed through
 * this adapter is left out. A public URL can be opened by whoever has it, for half a day
 * at least.
 */
@Injectable()
export class DaytonaAdapter extends SandboxAdapter {
  override readonly capabilities: ReadonlySet<SandboxCapability> = new Set(CAPABILITIES);
  override readonly traits: SandboxTraits = {
    sessionsOnSuspend: 'end',
    parks: 'on_request',
    atomicWrites: true,
    listing: 'account',
    exactIncarnations: true,
  };
  readonly #context: DaytonaContext;
  readonly #management: DaytonaManagement;
  readonly #urls: PublicUrls;
  /** Ids of sandboxes that are gone. */
  readonly #destroyed = new BoundedMap<string, true>(MAX_DESTROYED);

  /** @param options without them, what the environment says */
  constructor(@Optional() options: DaytonaOptions = new DaytonaOptions({})) {
    super('daytona');
    const client = new DaytonaClient(options);
    this.#context = { client, toolboxes: new Toolboxes(client), rubbish: new Rubbish() };
    this.#management = new DaytonaManagement(client);
    this.#urls = new PublicUrls(client);
  }

  protected override checkName(name: string): void {
    checkSandboxName(name);
  }

  protected override doCreate(name: string, options: CallOptions): Promise<SandboxHandle> {
    return withinDeadline(LIFECYCLE_TIMEOUT_MS, options.signal, async (deadline) => {
      await this.#management.create(name, deadline);
      return sandboxHandle(this.provider, name);
    });
  }

  protected override doCreateNew(name: string, options: CallOptions): Promise<SandboxHandle> {
    return withinDeadline(LIFECYCLE_TIMEOUT_MS, options.signal, async (deadline) =>
      sandboxHandle(this.provider, name, await this.#management.createNew(name, deadline)),
    );
  }

  protected override doGet(handle: SandboxHandle, options: CallOptions): Promise<SandboxInfo> {
    return withinDeadline(READ_TIMEOUT_MS, options.signal, async (deadline) => {
      const { status, raw } = await getSandbox(this.#context.client, handle, deadline);
      return { status, raw };
    });
  }

  protected override doDestroy(handle: SandboxHandle, options: CallOptions): Promise<void> {
    this.#context.toolboxes.forget(handle);
    return withinDeadline(LIFECYCLE_TIMEOUT_MS, options.signal, async (deadline) => {
      const id = await this.#management.destroy(handle, deadline);
      if (id !== undefined) this.#destroyed.set(id, true);
      this.#context.toolboxes.forget(handle);
    });
  }

  protected override doListAllNames(options: CallOptions): Promise<string[]> {
    return withinDeadline(READ_TIMEOUT_MS, options.signal, async (deadline) => {
      const sandboxes = await listSandboxes(this.#context.client, deadline);
      return sandboxes.filter(({ id }) => !this.#destroyed.has(id)).map(({ name }) => name);
    });
  }

  protected override doSuspend(handle: SandboxHandle, options: CallOptions): Promise<void> {
    this.#context.toolboxes.forget(handle);
    return withinDeadline(LIFECYCLE_TIMEOUT_MS, options.signal, async (deadline) => {
      await this.#management.suspend(handle, deadline);
      this.#context.toolboxes.forget(handle);
    });
  }

  protected override doResume(handle: SandboxHandle, options: CallOptions): Promise<SandboxHandle> {
    this.#context.toolboxes.forget(handle);
    return withinDeadline(RESUME_TIMEOUT_MS, options.signal, async (deadline) => {
      await this.#management.resume(handle, deadline);
      // Waits for its daemon, unless somebody has parked it again.
      await this.#context.toolboxes.ready(handle, deadline, false);
      return sandboxHandle(this.provider, handle.name, handle.instanceId);
    });
  }

  protected override doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void> {
    return withinDeadline(USE_TIMEOUT_MS, request.signal, (deadline) => writeFile(this.#in(handle), request, deadline));
  }

  protected override doReadFile(handle: SandboxHandle, path: string, options: CallOptions): Promise<Uint8Array> {
    return withinDeadline(USE_TIMEOUT_MS, options.signal, (deadline) => readFile(this.#in(handle), path, deadline));
  }

  protected override doListFiles(handle: SandboxHandle, path: string, options: CallOptions): Promise<FileEntry[]> {
    return withinDeadline(USE_TIMEOUT_MS, options.signal, (deadline) => listFiles(this.#in(handle), path, deadline));
  }

  protected override doStatFile(handle: SandboxHandle, path: string, options: CallOptions): Promise<FileStat> {
    return withinDeadline(USE_TIMEOUT_MS, options.signal, (deadline) => statFile(this.#in(handle), path, deadline));
  }

  protected override doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
    return execInDaytona(this.#in(handle), request);
  }

  protected override doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
    return spawnInDaytona(this.#in(handle), request);
  }

  protected override doListSessions(handle: SandboxHandle, options: CallOptions): Promise<SandboxSession[]> {
    return withinDeadline(USE_TIMEOUT_MS, options.signal, (deadline) => listSessions(this.#in(handle), deadline));
  }

  protected override doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
    return attachInDaytona(this.#in(handle), request);
  }

  protected override doTerminateSession(handle: SandboxHandle, request: TerminateRequest): Promise<void> {
    return terminateSession(this.#in(handle), request);
  }

  /** Of at most 10 names; it binds new connections. */
  protected override doApplyNetworkPolicy(
    handle: SandboxHandle,
    policy: NetworkPolicy,
    options: CallOptions,
  ): Promise<void> {
    const settings = settingsFor(policy);
    return withinDeadline(USE_TIMEOUT_MS, options.signal, (deadline) =>
      applyPolicy(this.#context.client, handle, settings, deadline),
    );
  }

  protected override doPublicUrl(handle: SandboxHandle, port: number, options: CallOptions): Promise<string> {
    return withinDeadline(READ_TIMEOUT_MS, options.signal, (deadline) => this.#urls.find(handle, port, deadline));
  }

  #in(handle: SandboxHandle): InSandbox {
    return { ...this.#context, handle };
  }
}
