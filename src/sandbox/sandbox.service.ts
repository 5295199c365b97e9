import { Injectable } from '@nestjs/common';
import {
  SandboxError,
  parseHandle,
  withBackoff,
  type AttachOptions,
  type BackoffOptions,
  type Bytes,
  type CallOptions,
  type Checkpoint,
  type CreateOptions,
  type ExecOptions,
  type ExecResult,
  type FileContent,
  type FileEntry,
  type FileStat,
  type NetworkPolicy,
  type SandboxAdapter,
  type SandboxCapability,
  type SandboxCommand,
  type SandboxHandle,
  type SandboxInfo,
  type SandboxSession,
  type SpawnOptions,
  type TerminalSize,
  type TerminateOptions,
  type WriteFileOptions,
} from '#libs/contract';
import { AdapterRegistry } from './adapter-registry.js';
import { SandboxSettings } from './sandbox.settings.js';

/**
 * Every operation of the contract over the adapters of `SandboxModule`. Creating takes a provider tag, everything else
 * goes to the adapter that the tag in the handle or command names. Handles are plain values: one that was stored as
 * JSON is as good as a fresh one.
 *
 * Every rejection is a `SandboxError`. Whatever the operation, it can be `invalid` (a bad argument, `unknown_provider`;
 * nothing happened), `not_supported` (a missing capability; nothing happened), `aborted` (by `options.signal`),
 * `unavailable`, `rate_limited`, `denied` and `provider`; its `effect` says whether the remote side may have acted.
 * The methods name what else they throw. No method that returns a promise throws synchronously.
 */
@Injectable()
export class SandboxService {
  constructor(
    private readonly registry: AdapterRegistry,
    private readonly settings: SandboxSettings,
  ) {}

  /** The configured provider tags. */
  get providers(): readonly string[] {
    return this.registry.tags;
  }

  /** Creates the sandbox of that name, or adopts the one that exists: calling it again gives the same sandbox. */
  async create(provider: string, name: string, options?: CreateOptions): Promise<SandboxHandle> {
    return this.registry.get(provider).create(name, options);
  }

  /**
   * Creates a sandbox that did not exist before, in one attempt; the handle carries its `instanceId`. A lost response
   * is `unavailable` with effect `unknown`. Capability `create_new`.
   *
   * @throws {SandboxError} `already_exists`
   */
  async createNew(provider: string, name: string, options?: CreateOptions): Promise<SandboxHandle> {
    return this.registry.get(provider).createNew(name, options);
  }

  /**
   * A handle for a sandbox that is known to exist. Pure: nothing is asked.
   *
   * @throws {SandboxError} `invalid`, synchronously
   */
  buildHandle(provider: string, name: string): SandboxHandle {
    return this.registry.get(provider).buildHandle(name);
  }

  /**
   * What the provider says about it.
   *
   * @throws {SandboxError} `not_found` only when the provider is definite
   */
  async get(handle: SandboxHandle, options?: CallOptions): Promise<SandboxInfo> {
    return this.#of(handle).get(handle, options);
  }

  /** Destroys it with everything in it. Already gone is success; afterwards `get` says `not_found`. */
  async destroy(handle: SandboxHandle, options?: CallOptions): Promise<void> {
    return this.#of(handle).destroy(handle, options);
  }

  /**
   * The names of all sandboxes of the account, or an error: never a part that looks like the whole. For `runner` it is
   * those on the runners that are online now, so that an absent name proves nothing.
   *
   * @throws {SandboxError} `truncated` when the listing could not be read to its end
   */
  async listAllNames(provider: string, options?: CallOptions): Promise<readonly string[]> {
    return this.registry.get(provider).listAllNames(options);
  }

  /** Parks it with its disk kept; does nothing where the platform parks by itself. Capability `suspend`. */
  async suspend(handle: SandboxHandle, options?: CallOptions): Promise<void> {
    return this.#of(handle).suspend(handle, options);
  }

  /** Wakes it; use the returned handle from then on. Capability `suspend`. */
  async resume(handle: SandboxHandle, options?: CallOptions): Promise<SandboxHandle> {
    return this.#of(handle).resume(handle, options);
  }

  /**
   * Writes a file, creating its directories.
   *
   * @throws {SandboxError} `write_failed`; `not_found` when there is no such sandbox; `invalid` / `request_too_large`
   */
  async writeFile(handle: SandboxHandle, path: string, data: FileContent, options?: WriteFileOptions): Promise<void> {
    return this.#of(handle).writeFile(handle, path, data, options);
  }

  /** The exact bytes of a file. Capability `files`. @throws {SandboxError} `not_found` */
  async readFile(handle: SandboxHandle, path: string, options?: CallOptions): Promise<Uint8Array> {
    return this.#of(handle).readFile(handle, path, options);
  }

  /** The entries of a directory. Capability `files`. @throws {SandboxError} `not_found` */
  async listFiles(handle: SandboxHandle, path: string, options?: CallOptions): Promise<readonly FileEntry[]> {
    return this.#of(handle).listFiles(handle, path, options);
  }

  /** What is known about a file, without following a symbolic link. Capability `files`. @throws {SandboxError} `not_found` */
  async statFile(handle: SandboxHandle, path: string, options?: CallOptions): Promise<FileStat> {
    return this.#of(handle).statFile(handle, path, options);
  }

  /**
   * Runs a program to its end. `args` reach it as they are, no shell reads them. A non-zero exit is a result.
   *
   * @throws {SandboxError} `truncated` / `output_limit` above `maxOutputBytes` (16 MiB unless given); `unavailable` /
   *   `timeout` after `timeoutMs`, with effect `done` if it was seen to stop; `invalid` / `no_such_directory`
   */
  async exec(
    handle: SandboxHandle,
    command: string,
    args?: readonly string[],
    options?: ExecOptions,
  ): Promise<ExecResult> {
    return this.#of(handle).exec(handle, command, args, options);
  }

  /**
   * Starts a program whose output is read while it runs.
   *
   * @throws {SandboxError} `invalid` / `no_such_directory`; a program that cannot be started is an exit with 126 or 127
   */
  async spawn(
    handle: SandboxHandle,
    command: string,
    args?: readonly string[],
    options?: SpawnOptions,
  ): Promise<SandboxCommand> {
    return this.#of(handle).spawn(handle, command, args, options);
  }

  /** As `command.writeStdin`. @throws {SandboxError} `command_exited`, `write_failed`, `invalid` / `stdin_closed` */
  async writeStdin(command: SandboxCommand, data: Bytes, options?: CallOptions): Promise<void> {
    return this.#its(command).writeStdin(data, options);
  }

  /** As `command.closeStdin`: succeeds after exit. */
  async closeStdin(command: SandboxCommand, options?: CallOptions): Promise<void> {
    return this.#its(command).closeStdin(options);
  }

  /** As `command.resize`: does nothing after exit. Capability `tty`. */
  async resize(command: SandboxCommand, size: TerminalSize): Promise<void> {
    return this.#its(command).resize(size);
  }

  /** As `command.stop`: detaches this end only, idempotent. It does not end the process. */
  async stopCommand(command: SandboxCommand): Promise<void> {
    return this.#its(command).stop();
  }

  /** The running detachable sessions. Capability `attach`. */
  async listSessions(handle: SandboxHandle, options?: CallOptions): Promise<readonly SandboxSession[]> {
    return this.#of(handle).listSessions(handle, options);
  }

  /**
   * Joins a session: its output from the beginning, or from `options.from`, then live, with nothing lost or twice.
   * Capability `attach`.
   *
   * @throws {SandboxError} `not_found`; `truncated` / `replay_evicted`; `invalid` / `offset_beyond_end`
   */
  async attach(handle: SandboxHandle, sessionId: string, options?: AttachOptions): Promise<SandboxCommand> {
    return this.#of(handle).attach(handle, sessionId, options);
  }

  /**
   * Ends a session's process; resolves only once the provider confirmed that it is gone. The caller authorises the
   * exact session, records the intent and does not use it again while a stop is uncertain. Capability
   * `terminate_session`.
   *
   * @throws {SandboxError} `unavailable` with effect `unknown` for anything less than a confirmation
   */
  async terminateSession(handle: SandboxHandle, sessionId: string, options?: TerminateOptions): Promise<void> {
    return this.#of(handle).terminateSession(handle, sessionId, options);
  }

  /** Limits where the sandbox may connect to; `allow: []` denies everything. Capability `network_policy`. */
  async applyNetworkPolicy(handle: SandboxHandle, policy: NetworkPolicy, options?: CallOptions): Promise<void> {
    return this.#of(handle).applyNetworkPolicy(handle, policy, options);
  }

  /** A URL for that port that a browser can open. Capability `public_url`. */
  async publicUrl(handle: SandboxHandle, target: { readonly port: number }, options?: CallOptions): Promise<string> {
    return this.#of(handle).publicUrl(handle, target, options);
  }

  /** Keeps the present state of the disk. Capability `checkpoint`. */
  async createCheckpoint(handle: SandboxHandle, options?: CallOptions): Promise<Checkpoint> {
    return this.#of(handle).createCheckpoint(handle, options);
  }

  /** Goes back to it. Capability `checkpoint`. @throws {SandboxError} `restore_failed` */
  async restoreCheckpoint(handle: SandboxHandle, checkpointId: string, options?: CallOptions): Promise<void> {
    return this.#of(handle).restoreCheckpoint(handle, checkpointId, options);
  }

  /** The path as a process inside sees it; the same except on runners. */
  async hostPath(handle: SandboxHandle, path: string, options?: CallOptions): Promise<string> {
    return this.#of(handle).hostPath(handle, path, options);
  }

  /**
   * Whether the call behind `capability` is answered: by tag the most that the provider can do, at once; by handle what
   * this sandbox can do now.
   *
   * @throws {SandboxError} by tag synchronously `invalid` / `unknown_provider`
   */
  supports(provider: string, capability: SandboxCapability): boolean;
  supports(handle: SandboxHandle, capability: SandboxCapability, options?: CallOptions): Promise<boolean>;
  supports(
    target: string | SandboxHandle,
    capability: SandboxCapability,
    options?: CallOptions,
  ): boolean | Promise<boolean> {
    if (typeof target === 'string') return this.capabilities(target).has(capability);
    return this.capabilities(target, options).then((known) => known.has(capability));
  }

  /** As `supports`, all of them. */
  capabilities(provider: string): ReadonlySet<SandboxCapability>;
  capabilities(handle: SandboxHandle, options?: CallOptions): Promise<ReadonlySet<SandboxCapability>>;
  capabilities(
    target: string | SandboxHandle,
    options?: CallOptions,
  ): ReadonlySet<SandboxCapability> | Promise<ReadonlySet<SandboxCapability>> {
    if (typeof target === 'string') return this.registry.get(target).capabilities;
    return this.#capabilitiesOf(target, options);
  }

  /**
   * As the function `withBackoff`, with `settings.retryBaseMs` as the first step. Wrap only what may be done twice.
   *
   * @throws what `work` threw last
   */
  async withBackoff<T>(work: () => T | PromiseLike<T>, options?: BackoffOptions): Promise<T> {
    return withBackoff(work, { ...options, baseMs: options?.baseMs ?? this.settings.retryBaseMs });
  }

  async #capabilitiesOf(handle: SandboxHandle, options?: CallOptions): Promise<ReadonlySet<SandboxCapability>> {
    return this.#of(handle).capabilitiesOf(handle, options);
  }

  #of(handle: SandboxHandle): SandboxAdapter {
    return this.registry.get(parseHandle(handle).provider);
  }

  #its(command: SandboxCommand): SandboxCommand {
    if (typeof (command as Partial<SandboxCommand> | null)?.writeStdin !== 'function') {
      throw new SandboxError('invalid', { detail: 'argument', message: 'command: expected what spawn or attach gave' });
    }
    this.registry.get(command.provider);
    return command;
  }
}
