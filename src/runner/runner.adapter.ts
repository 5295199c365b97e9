import { Inject, Injectable, Optional } from '@nestjs/common';
import {
  CommandStream,
  SandboxAdapter,
  SandboxError,
  StreamingCommand,
  sandboxHandle,
  type AttachRequest,
  type CallOptions,
  type ExecRequest,
  type ExecResult,
  type SandboxCapability,
  type SandboxCommand,
  type SandboxHandle,
  type SandboxInfo,
  type SandboxSession,
  type SandboxTraits,
  type SpawnRequest,
  type WriteFileRequest,
} from '#libs/contract';
import { PROTOCOL_LIMITS, type ProtocolLimits, type RunnerLink } from '#libs/protocol';
import { gatherContent } from './gather-content.js';
import { isUnderHome, underHome } from './host-path.js';
import { runningSessions } from './listed-sessions.js';
import { parseRunnerSandboxName } from './names.js';
import { hostFailed, isGone, noHost, noIncarnation, noPath, runnerOffline } from './runner-errors.js';
import { runnerExec } from './runner-exec.js';
import { RunnerHost } from './runner-host.js';
import { RUNNER_LIMITS } from './runner.tokens.js';

/**
 * Sandboxes on machines whose owners run the daemon. The name of a sandbox carries the id of its runner, see
 * `runnerSandboxName`; there is no placement. While a runner is not connected its sandboxes are `unavailable` /
 * `runner_offline`, never `not_found`.
 */
@Injectable()
export class RunnerAdapter extends SandboxAdapter {
  override readonly capabilities: ReadonlySet<SandboxCapability> = new Set<SandboxCapability>(['suspend', 'attach']);
  override readonly traits: SandboxTraits = Object.freeze({
    sessionsOnSuspend: 'end',
    parks: 'on_request',
    atomicWrites: true,
    listing: 'online',
    exactIncarnations: true,
  });

  /** @param host where connections are found. Without it every call says to import `RunnerModule.forRoot()` */
  constructor(
    @Optional() private readonly host?: RunnerHost,
    @Optional() @Inject(RUNNER_LIMITS) private readonly limits: ProtocolLimits = PROTOCOL_LIMITS,
  ) {
    super('runner');
  }

  protected override checkName(name: string): void {
    parseRunnerSandboxName(name);
  }

  protected override async doCreate(name: string, { signal }: CallOptions): Promise<SandboxHandle> {
    const link = await this.#linkTo({ name });
    await link.request('create', { name }, { signal });
    return sandboxHandle(this.provider, name);
  }

  protected override async doGet(handle: SandboxHandle, { signal }: CallOptions): Promise<SandboxInfo> {
    const link = await this.#linkTo(handle);
    const raw = await link.request('get', { name: handle.name }, { signal });
    return { status: raw.status === 'running' || raw.status === 'suspended' ? raw.status : 'unknown', raw };
  }

  protected override async doDestroy(handle: SandboxHandle, { signal }: CallOptions): Promise<void> {
    const { name } = handle;
    try {
      const link = await this.#linkTo(handle);
      await link.request('destroy', { name }, { timeoutMs: this.limits.stopTimeoutMs, signal });
    } catch (error) {
      if (!(error instanceof SandboxError) || error.code !== 'not_found') throw error;
    }
  }

  /** Of the runners that are online now: an absent name proves nothing. */
  protected override async doListAllNames(options: CallOptions): Promise<string[]> {
    const lists = await Promise.all((await this.#online()).map((runnerId) => this.#namesOn(runnerId, options)));
    return lists.flat();
  }

  protected override async doSuspend(handle: SandboxHandle, { signal }: CallOptions): Promise<void> {
    const link = await this.#linkTo(handle);
    await link.request('suspend', { name: handle.name }, { timeoutMs: this.limits.stopTimeoutMs, signal });
  }

  protected override async doResume(handle: SandboxHandle, { signal }: CallOptions): Promise<SandboxHandle> {
    const link = await this.#linkTo(handle);
    await link.request('resume', { name: handle.name }, { signal });
    return sandboxHandle(this.provider, handle.name);
  }

  protected override async doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void> {
    const { path, mode, content, signal } = request;
    const data = await gatherContent(content, this.limits.writeFileBytes, signal);
    const link = await this.#linkTo(handle);
    await link.request('write_file', { name: handle.name, path, data, mode }, { signal });
  }

  protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
    return runnerExec(await this.#linkTo(handle), handle, request, this.limits);
  }

  protected override async doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
    const { cmd, args, env, dir, stdin, detachable, signal } = request;
    const link = await this.#linkTo(handle);
    const stream = new CommandStream();
    const body = { name: handle.name, cmd, args, env, dir, stdin, detachable };
    const channel = await link.open('spawn', body, stream, { signal });
    const { sessionId } = channel;
    return new StreamingCommand({ provider: this.provider, handle, sessionId, stream, channel, stdin, tty: false });
  }

  protected override async doListSessions(handle: SandboxHandle, { signal }: CallOptions): Promise<SandboxSession[]> {
    const link = await this.#linkTo(handle);
    return runningSessions(await link.request('list_sessions', { name: handle.name }, { signal }));
  }

  protected override async doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
    const { sessionId, from, stdin, signal } = request;
    const link = await this.#linkTo(handle);
    const stream = new CommandStream();
    const channel = await link.open('attach', { name: handle.name, sessionId, from, stdin }, stream, { signal });
    return new StreamingCommand({
      provider: this.provider,
      operation: 'attach',
      handle,
      sessionId,
      stream,
      channel,
      stdin,
      tty: false,
    });
  }

  /** `~` and `/home/sprite` at the beginning mean the sandbox's directory; every other path is its own. */
  protected override async doHostPath(handle: SandboxHandle, path: string, options: CallOptions): Promise<string> {
    if (!isUnderHome(path)) return path;
    const link = await this.#linkTo(handle);
    const { path: home } = await link.request('get', { name: handle.name }, { signal: options.signal });
    if (home === undefined) throw noPath();
    return underHome(path, home);
  }

  /** No daemon tells incarnations apart: one that a handle names is not there. */
  async #linkTo({ name, instanceId }: Omit<SandboxHandle, 'provider'>): Promise<RunnerLink> {
    if (instanceId !== undefined) throw noIncarnation();
    return this.#linkOf(parseRunnerSandboxName(name));
  }

  async #linkOf(runnerId: string): Promise<RunnerLink> {
    const link = await this.#ask((host) => host.whereis(runnerId));
    if (link === undefined) throw runnerOffline(runnerId);
    return link;
  }

  async #online(): Promise<string[]> {
    return (await this.#ask((host) => host.online())).map(([runnerId]) => runnerId);
  }

  async #ask<T>(question: (host: RunnerHost) => Promise<T>): Promise<T> {
    if (this.host === undefined) throw noHost();
    try {
      return await question(this.host);
    } catch (error) {
      throw error instanceof SandboxError ? error : hostFailed(error);
    }
  }

  /** Of a runner that left meanwhile, none. A runner can only name its own sandboxes: other names are dropped. */
  async #namesOn(runnerId: string, { signal }: CallOptions): Promise<string[]> {
    try {
      const link = await this.#linkOf(runnerId);
      const { names } = await link.request('list', {}, { signal });
      return [...new Set(names)].filter((name) => isNameOn(runnerId, name));
    } catch (error) {
      if (isGone(error) && !(await this.#online()).includes(runnerId)) return [];
      throw error;
    }
  }
}

function isNameOn(runnerId: string, name: string): boolean {
  try {
    return parseRunnerSandboxName(name) === runnerId;
  } catch {
    return false;
  }
}
