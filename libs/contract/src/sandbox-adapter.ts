import { abortedError } from './aborted.js';
import { AdapterMethods } from './adapter-methods.js';
import { SANDBOX_OPERATIONS, type OperationTraits, type SandboxOperation } from './adapter-operations.js';
import type { CallObserver } from './call-observer.js';
import type { SandboxCapability } from './capabilities.js';
import { checkOptions } from './check-options.js';
import {
  checkNetworkPolicy,
  checkNonEmptyText,
  checkObject,
  checkPort,
  checkSignal,
  invalidArgument,
} from './checks.js';
import type { SandboxCommand } from './command.js';
import type { ExecResult } from './frames.js';
import { isProviderTag, sandboxHandle, type SandboxHandle } from './handle.js';
import { attachRequest, execRequest, spawnRequest, terminateRequest, writeFileRequest } from './normalize.js';
import { observed } from './observed.js';
import { operationError } from './operation-error.js';
import type {
  AttachOptions,
  CallOptions,
  Checkpoint,
  CreateOptions,
  ExecOptions,
  FileContent,
  FileEntry,
  FileStat,
  NetworkPolicy,
  SandboxInfo,
  SandboxSession,
  SpawnOptions,
  TerminateOptions,
  WriteFileOptions,
} from './operations.js';
import { checkPath } from './process-checks.js';
import { SandboxError } from './sandbox-error.js';

/** Stands for the handle in calls that are about the provider as a whole. */
const ACCOUNT = Symbol('account');

/** For calls that have no argument of their own. */
const nothing = (): void => {};

/**
 * One provider: the contract and the DI token in one. The public methods check arguments, handle, capability and
 * signal, and see to it that every rejection is a `SandboxError` with provider and operation; the protected `do…`
 * methods of {@link AdapterMethods} do the work.
 *
 * Every call rejects, and never throws: `invalid` / `argument` for bad arguments, a handle of another provider
 * included; `not_supported` without the capability; `aborted` once its signal fired. Effect `none` means that nothing
 * was done; calls that only read have no other.
 */
export abstract class SandboxAdapter extends AdapterMethods {
  readonly #defaultTag: string;
  #boundTag: string | undefined;
  #observer: CallObserver | undefined;

  /** @param defaultTag the provider's tag unless `bind` gives another */
  constructor(defaultTag: string) {
    super();
    this.#defaultTag = defaultTag;
  }

  /** The tag that this adapter's handles carry. */
  get provider(): string {
    return this.#boundTag ?? this.#defaultTag;
  }

  /**
   * Sets the tag, before the first call. The same tag again changes nothing.
   *
   * @throws {SandboxError} `invalid`: malformed, or bound to another tag
   */
  bind(tag: string): void {
    if (typeof tag !== 'string' || !isProviderTag(tag)) {
      throw invalidArgument('provider tag: expected lowercase letters, digits and _, beginning with a letter');
    }
    if (this.#boundTag !== undefined && this.#boundTag !== tag) {
      throw invalidArgument(`this adapter already serves '${this.#boundTag}'; '${tag}' needs an instance of its own`);
    }
    this.#boundTag = tag;
  }

  /** Lets `observer` see every call from here on, in place of an earlier one; `undefined`: nobody. */
  observe(observer: CallObserver | undefined): void {
    this.#observer = observer;
  }

  /** Whether the adapter can ever do it; what one sandbox can do now is told by {@link capabilitiesOf}. */
  supports(capability: SandboxCapability): boolean {
    return this.capabilities.has(capability);
  }

  /** What this sandbox can do now. */
  capabilitiesOf(handle: SandboxHandle, options?: CallOptions): Promise<ReadonlySet<SandboxCapability>> {
    return this.#call('capabilitiesOf', handle, options, nothing, (_, o) => this.doCapabilitiesOf(handle, o));
  }

  /** Idempotent, adopting: an existing name gives its handle. */
  create(name: string, options?: CreateOptions): Promise<SandboxHandle> {
    const check = () => this.#checkedName(name);
    return this.#call('create', ACCOUNT, options, check, (checked, o) => this.doCreate(checked, o));
  }

  /**
   * One attempt that never adopts; the handle carries the provider's `instanceId`. A lost response is `unavailable`
   * with effect `unknown`.
   *
   * @throws {SandboxError} `already_exists`; `not_supported` without `create_new`
   */
  createNew(name: string, options?: CreateOptions): Promise<SandboxHandle> {
    const check = () => this.#checkedName(name);
    return this.#call('createNew', ACCOUNT, options, check, (checked, o) => this.doCreateNew(checked, o));
  }

  /**
   * A handle without I/O; proves nothing about the sandbox. The one operation that is not asynchronous.
   *
   * @throws {SandboxError} `invalid`: no sandbox of this provider can have that name
   */
  buildHandle(name: string): SandboxHandle {
    return sandboxHandle(this.provider, this.#checkedName(name));
  }

  /** @throws {SandboxError} `not_found` only when the provider is definite */
  get(handle: SandboxHandle, options?: CallOptions): Promise<SandboxInfo> {
    return this.#call('get', handle, options, nothing, (_, o) => this.doGet(handle, o));
  }

  /** Already gone is success; afterwards `get` says `not_found`. */
  destroy(handle: SandboxHandle, options?: CallOptions): Promise<void> {
    return this.#call('destroy', handle, options, nothing, (_, o) => this.doDestroy(handle, o));
  }

  /** The whole account or an error. @throws {SandboxError} `truncated` when paging cannot finish */
  listAllNames(options?: CallOptions): Promise<string[]> {
    return this.#call('listAllNames', ACCOUNT, options, nothing, (_, o) => this.doListAllNames(o));
  }

  /** Parks with the disk kept; succeeds without an act where the platform parks by itself. */
  suspend(handle: SandboxHandle, options?: CallOptions): Promise<void> {
    return this.#call('suspend', handle, options, nothing, (_, o) => this.doSuspend(handle, o));
  }

  /** Wakes, giving a fresh handle. */
  resume(handle: SandboxHandle, options?: CallOptions): Promise<SandboxHandle> {
    return this.#call('resume', handle, options, nothing, (_, o) => this.doResume(handle, o));
  }

  /** Parents are created. A given mode is kept, whatever the umask. */
  writeFile(handle: SandboxHandle, path: string, content: FileContent, options?: WriteFileOptions): Promise<void> {
    const check = (o: WriteFileOptions) => writeFileRequest(path, content, o);
    return this.#call('writeFile', handle, options, check, (request) => this.doWriteFile(handle, request), path);
  }

  /** Exact bytes. */
  readFile(handle: SandboxHandle, path: string, options?: CallOptions): Promise<Uint8Array> {
    const check = () => checkPath('path', path);
    return this.#call('readFile', handle, options, check, (checked, o) => this.doReadFile(handle, checked, o), path);
  }

  listFiles(handle: SandboxHandle, path: string, options?: CallOptions): Promise<FileEntry[]> {
    const check = () => checkPath('path', path);
    return this.#call('listFiles', handle, options, check, (checked, o) => this.doListFiles(handle, checked, o), path);
  }

  statFile(handle: SandboxHandle, path: string, options?: CallOptions): Promise<FileStat> {
    const check = () => checkPath('path', path);
    return this.#call('statFile', handle, options, check, (checked, o) => this.doStatFile(handle, checked, o), path);
  }

  /**
   * Runs to the end: a non-zero exit is a result. No shell parses `args`.
   *
   * @throws {SandboxError} `unavailable` / `timeout`; `truncated` / `output_limit`; `invalid` / `no_such_directory`
   */
  exec(handle: SandboxHandle, cmd: string, args?: readonly string[], options?: ExecOptions): Promise<ExecResult> {
    const check = (o: ExecOptions) => execRequest(cmd, args, o);
    return this.#call('exec', handle, options, check, (request) => this.doExec(handle, request));
  }

  /** Starts a process and resolves once it runs. @throws {SandboxError} `invalid` / `no_such_directory` */
  spawn(handle: SandboxHandle, cmd: string, args?: readonly string[], options?: SpawnOptions): Promise<SandboxCommand> {
    const check = (o: SpawnOptions) => spawnRequest(cmd, args, o);
    return this.#call('spawn', handle, options, check, async (request, o) => {
      if (request.tty) await this.#gate('spawn', 'tty', handle, o);
      return this.doSpawn(handle, request);
    });
  }

  /** Running detachable sessions. */
  listSessions(handle: SandboxHandle, options?: CallOptions): Promise<SandboxSession[]> {
    return this.#call('listSessions', handle, options, nothing, (_, o) => this.doListSessions(handle, o));
  }

  /**
   * Replays a session from `from`, then goes on live: no byte is lost, none comes twice.
   *
   * @throws {SandboxError} `not_found`: no such session; `invalid` / `offset_beyond_end`; `truncated` /
   *   `replay_evicted`
   */
  attach(handle: SandboxHandle, sessionId: string, options?: AttachOptions): Promise<SandboxCommand> {
    const check = (o: AttachOptions) => attachRequest(sessionId, o);
    return this.#call('attach', handle, options, check, (request) => this.doAttach(handle, request));
  }

  /**
   * Resolves only after the provider confirmed the process gone, or the session definitely absent. Never retried,
   * never falls back to destroying the sandbox; says nothing about the exit of what was stopped.
   *
   * @throws {SandboxError} `unavailable` with effect `unknown`: anything less than a confirmation
   */
  terminateSession(handle: SandboxHandle, sessionId: string, options?: TerminateOptions): Promise<void> {
    const check = (o: TerminateOptions) => terminateRequest(sessionId, o);
    return this.#call('terminateSession', handle, options, check, (request) =>
      this.doTerminateSession(handle, request),
    );
  }

  /** `allow: []` denies all egress. */
  applyNetworkPolicy(handle: SandboxHandle, policy: NetworkPolicy, options?: CallOptions): Promise<void> {
    const check = () => checkNetworkPolicy(policy);
    return this.#call('applyNetworkPolicy', handle, options, check, (checked, o) =>
      this.doApplyNetworkPolicy(handle, checked, o),
    );
  }

  /** A URL that a browser can open. */
  publicUrl(handle: SandboxHandle, target: { readonly port: number }, options?: CallOptions): Promise<string> {
    const check = () => checkPort(checkObject('target', target)['port']);
    return this.#call('publicUrl', handle, options, check, (checked, o) => this.doPublicUrl(handle, checked, o));
  }

  createCheckpoint(handle: SandboxHandle, options?: CallOptions): Promise<Checkpoint> {
    return this.#call('createCheckpoint', handle, options, nothing, (_, o) => this.doCreateCheckpoint(handle, o));
  }

  /** @throws {SandboxError} `restore_failed`: the provider reported a failure */
  restoreCheckpoint(handle: SandboxHandle, id: string, options?: CallOptions): Promise<void> {
    const check = () => checkNonEmptyText('id', id);
    return this.#call('restoreCheckpoint', handle, options, check, (checked, o) =>
      this.doRestoreCheckpoint(handle, checked, o),
    );
  }

  /** The path as a process inside sees it. */
  hostPath(handle: SandboxHandle, path: string, options?: CallOptions): Promise<string> {
    const check = () => checkPath('path', path);
    return this.#call('hostPath', handle, options, check, (checked, o) => this.doHostPath(handle, checked, o), path);
  }

  /** The one way from a public method to a protected one. @param path what errors name: the file that it is about */
  #call<O extends CallOptions, C, T>(
    operation: SandboxOperation,
    subject: SandboxHandle | typeof ACCOUNT,
    given: O | undefined,
    check: (options: O) => C,
    run: (checked: C, options: O) => T | Promise<T>,
    path?: unknown,
  ): Promise<T> {
    if (this.#observer === undefined) return this.#attempt(operation, subject, given, check, run, path);
    const attempt = (): Promise<T> => this.#attempt(operation, subject, given, check, run, path);
    return observed(this.#observer, { provider: this.provider, operation }, attempt);
  }

  /** What needs no round trip is checked first, so that it does not depend on whether the provider answers. */
  async #attempt<O extends CallOptions, C, T>(
    operation: SandboxOperation,
    subject: SandboxHandle | typeof ACCOUNT,
    given: O | undefined,
    check: (options: O) => C,
    run: (checked: C, options: O) => T | Promise<T>,
    path: unknown,
  ): Promise<T> {
    const { readOnly, needs }: OperationTraits = SANDBOX_OPERATIONS[operation];
    let signal: AbortSignal | undefined;
    try {
      const options = checkOptions(operation, given);
      signal = checkSignal(options.signal);
      if (subject !== ACCOUNT) this.#checkHandle(subject);
      const checked = check(options);
      if (signal?.aborted) throw abortedError(signal, 'none', operation);
      if (needs !== undefined) await this.#gate(operation, needs, subject, options);
      return await run(checked, options);
    } catch (error) {
      throw operationError(error, { provider: this.provider, operation, readOnly, signal, path });
    }
  }

  async #gate(
    operation: SandboxOperation,
    capability: SandboxCapability,
    subject: SandboxHandle | typeof ACCOUNT,
    options: CallOptions,
  ): Promise<void> {
    if (this.capabilities.has(capability)) {
      if (subject === ACCOUNT) return;
      try {
        if ((await this.doCapabilitiesOf(subject, options)).has(capability)) return;
      } catch (error) {
        // Asking did nothing, whatever the call would have done.
        throw operationError(error, { provider: this.provider, operation, readOnly: true, signal: options.signal });
      }
    }
    throw new SandboxError('not_supported', {
      effect: 'none',
      message: `${subject === ACCOUNT ? this.provider : 'this sandbox'} does not support ${capability}`,
    });
  }

  /** The handle may have come out of a store, so its type proves nothing. */
  #checkHandle(handle: SandboxHandle): void {
    const { provider, name, instanceId } = checkObject('handle', handle);
    if (provider !== this.provider) {
      throw invalidArgument(`handle: expected one of provider '${this.provider}'`);
    }
    this.#checkedName(name);
    if (instanceId !== undefined) checkNonEmptyText('handle.instanceId', instanceId);
  }

  #checkedName(value: unknown): string {
    const name = checkNonEmptyText('name', value);
    this.checkName(name);
    return name;
  }
}
