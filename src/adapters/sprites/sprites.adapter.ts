import { Injectable, Optional } from '@nestjs/common';
import {
  SandboxAdapter,
  SandboxError,
  sandboxHandle,
  type AttachRequest,
  type CallOptions,
  type Checkpoint,
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
import { StdinOwners } from '../common/stdin-owners.js';
import { attachInSprite } from './sprites.attach.js';
import { CHECKPOINT_TIMEOUT_MS, createCheckpoint, restoreCheckpoint } from './sprites.checkpoints.js';
import { SpritesClient, socketTimeoutMs } from './sprites.client.js';
import { execInSprite } from './sprites.exec.js';
import { SpritesFiles } from './sprites.files.js';
import { listSpriteNames } from './sprites.listing.js';
import { SpritesManagement } from './sprites.management.js';
import { SpritesOptions } from './sprites.options.js';
import { POLICY_TIMEOUT_MS, applyPolicy } from './sprites.policy.js';
import { listedSessions, liveSessions } from './sprites.sessions.js';
import { spawnInSprite } from './sprites.spawn.js';
import { terminateSession } from './sprites.terminate.js';

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

/** Where requests to a sprite's URL arrive. */
const PUBLIC_PORT = 8080;

/**
 * Sandboxes on Fly Sprites. A sprite is addressed by its name only: for a handle with an `instanceId` the id is read
 * immediately before destroy, restore and terminate, and a name that is taken anew between that and the act is acted
 * on all the same. Of a service whose answer to a create has no id, `createNew` reads it right after, by the name. A
 * create that is refused with 400, which leaves open why, is one of a name that is taken where the sprite is there.
 *
 * Sprites park themselves: suspend and resume only look whether the sprite is there, and any other call into it
 * wakes it. Sessions survive a pause and are lost when the machine was stopped. Their output is kept in the sprite, in
 * `~/.nestjs-sandbox`, without a bound while they run; of ended ones the newest 100 that are detachable and the newest
 * 20 others are kept. Destroying the sprite deletes all of it.
 *
 * A write to stdin resolves when the pipe of the process has taken it, which a pump in the sprite says; on a terminal
 * when the network has.
 */
@Injectable()
export class SpritesAdapter extends SandboxAdapter {
  override readonly capabilities: ReadonlySet<SandboxCapability>;
  override readonly traits: SandboxTraits = Object.freeze({
    sessionsOnSuspend: 'either',
    parks: 'by_itself',
    atomicWrites: true,
    listing: 'account',
    exactIncarnations: false,
  });
  readonly #client: SpritesClient;
  readonly #management: SpritesManagement;
  readonly #files: SpritesFiles;
  readonly #owners = new StdinOwners();
  readonly #seen = new SeenExits();

  /** @param options without them, what the environment says */
  constructor(@Optional() options: SpritesOptions = new SpritesOptions({})) {
    super('sprites');
    this.#client = new SpritesClient(options);
    this.#management = new SpritesManagement(this.#client);
    this.#files = new SpritesFiles(this.#client);
    this.capabilities = new Set(options.checkpointCreationEnabled ? [...CAPABILITIES, 'checkpoint'] : CAPABILITIES);
  }

  protected override checkName(name: string): void {
    checkSandboxName(name);
  }

  protected override doCreate(name: string, options: CallOptions): Promise<SandboxHandle> {
    return this.#within(options, async (deadline) => {
      await this.#management.create(name, deadline);
      return sandboxHandle(this.provider, name);
    });
  }

  protected override doCreateNew(name: string, options: CallOptions): Promise<SandboxHandle> {
    return this.#within(options, async (deadline) =>
      sandboxHandle(this.provider, name, await this.#management.createNew(name, deadline)),
    );
  }

  protected override doGet(handle: SandboxHandle, options: CallOptions): Promise<SandboxInfo> {
    return this.#within(options, async (deadline) => {
      const { status, raw } = await this.#management.get(handle, deadline);
      return { status, raw };
    });
  }

  protected override doDestroy(handle: SandboxHandle, options: CallOptions): Promise<void> {
    return this.#within(options, (deadline) => this.#management.destroy(handle, deadline));
  }

  protected override doListAllNames(options: CallOptions): Promise<string[]> {
    return this.#within(options, (deadline) => listSpriteNames(this.#client, deadline));
  }

  /** The platform parks by itself: only whether there is something to park is asked. */
  protected override doSuspend(handle: SandboxHandle, options: CallOptions): Promise<void> {
    return this.#within(options, async (deadline) => {
      await this.#management.look(handle, deadline);
    });
  }

  protected override doResume(handle: SandboxHandle, options: CallOptions): Promise<SandboxHandle> {
    return this.#within(options, async (deadline) => {
      await this.#management.look(handle, deadline);
      return sandboxHandle(this.provider, handle.name, handle.instanceId);
    });
  }

  protected override doWriteFile({ name }: SandboxHandle, request: WriteFileRequest): Promise<void> {
    return this.#within(request, (deadline) => this.#files.write(name, request, deadline));
  }

  protected override doReadFile({ name }: SandboxHandle, path: string, options: CallOptions): Promise<Uint8Array> {
    return this.#within(options, (deadline) => this.#files.read(name, path, deadline));
  }

  protected override doListFiles({ name }: SandboxHandle, path: string, options: CallOptions): Promise<FileEntry[]> {
    return this.#within(options, (deadline) => this.#files.list(name, path, deadline));
  }

  protected override doStatFile({ name }: SandboxHandle, path: string, options: CallOptions): Promise<FileStat> {
    return this.#within(options, (deadline) => this.#files.stat(name, path, deadline));
  }

  protected override doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
    return execInSprite(this.#client, handle, request);
  }

  protected override async doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
    return this.#seen.watch(await spawnInSprite(this.#client, this.#owners, handle, request));
  }

  protected override doListSessions(handle: SandboxHandle, options: CallOptions): Promise<SandboxSession[]> {
    return this.#within(options, async (deadline) => {
      const sessions = listedSessions(await liveSessions(this.#client, handle.name, deadline));
      return this.#seen.others(handle, sessions);
    });
  }

  protected override async doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
    return this.#seen.watch(await attachInSprite(this.#client, this.#owners, handle, request));
  }

  protected override doTerminateSession(handle: SandboxHandle, request: TerminateRequest): Promise<void> {
    return terminateSession(this.#client, this.#management, handle, request);
  }

  /** Of names, by DNS: it binds new connections. */
  protected override doApplyNetworkPolicy(
    { name }: SandboxHandle,
    policy: NetworkPolicy,
    options: CallOptions,
  ): Promise<void> {
    const timeoutMs = Math.max(POLICY_TIMEOUT_MS, this.#client.options.timeoutMs);
    return this.#within(options, (deadline) => applyPolicy(this.#client, name, policy, deadline), timeoutMs);
  }

  /** Only of port 8080, which the URL of a sprite leads to, and only while everyone may open it. */
  protected override doPublicUrl(handle: SandboxHandle, port: number, options: CallOptions): Promise<string> {
    return this.#within(options, async (deadline) => {
      if (port !== PUBLIC_PORT) throw notSupported(`the URL of a sprite leads to port ${PUBLIC_PORT} only`);
      const { url, isPublic } = await this.#management.get(handle, deadline);
      if (url === undefined) throw notSupported('the sprite has no URL');
      if (!isPublic) throw notSupported('the URL of the sprite is open to its organization only');
      return url;
    });
  }

  protected override doCreateCheckpoint({ name }: SandboxHandle, options: CallOptions): Promise<Checkpoint> {
    return this.#within(options, (deadline) => createCheckpoint(this.#client, name, deadline), CHECKPOINT_TIMEOUT_MS);
  }

  /** Resolves once commands run again. */
  protected override doRestoreCheckpoint(handle: SandboxHandle, id: string, options: CallOptions): Promise<void> {
    const restore = async (deadline: Deadline): Promise<void> => {
      await this.#management.verify(handle, deadline);
      await restoreCheckpoint(this.#client, handle.name, id, deadline);
      await this.#ready(handle, deadline);
    };
    return this.#within(options, restore, CHECKPOINT_TIMEOUT_MS);
  }

  /** It was restored; only whether it is back already is asked. */
  async #ready(handle: SandboxHandle, deadline: Deadline): Promise<void> {
    const run = () =>
      execInSprite(this.#client, handle, {
        cmd: 'true',
        args: [],
        env: [],
        startedAtMs: performance.now(),
        timeoutMs: socketTimeoutMs(this.#client),
        stderrToStdout: false,
        maxOutputBytes: 1024,
        signal: deadline.signal,
      });
    await this.#client.retry(deadline, run, 8).catch((error: unknown) => {
      throw error instanceof SandboxError ? error.with({ effect: 'done' }) : error;
    });
  }

  #within<T>(
    { signal }: CallOptions,
    work: (deadline: Deadline) => Promise<T>,
    timeoutMs: number = this.#client.options.timeoutMs,
  ): Promise<T> {
    return withinDeadline(timeoutMs, signal, work);
  }
}
