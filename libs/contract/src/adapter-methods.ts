import type {
  AttachRequest,
  ExecRequest,
  SpawnRequest,
  TerminateRequest,
  WriteFileRequest,
} from './adapter-requests.js';
import type { SandboxCapability } from './capabilities.js';
import type { SandboxCommand } from './command.js';
import type { ExecResult } from './frames.js';
import type { SandboxHandle } from './handle.js';
import type {
  CallOptions,
  Checkpoint,
  CreateOptions,
  FileEntry,
  FileStat,
  NetworkPolicy,
  SandboxInfo,
  SandboxSession,
} from './operations.js';
import { SandboxError } from './sandbox-error.js';
import { DEFAULT_TRAITS, type SandboxTraits } from './traits.js';

/**
 * What an adapter implements. On entry to each method:
 *
 * - arguments are checked, defaults are filled in and `options` is always an object;
 * - the handle belongs to this adapter and its name passed `checkName`;
 * - the capability that the call needs is in {@link doCapabilitiesOf} for that handle;
 * - the signal, if any, has not fired.
 *
 * Whatever a method throws reaches the caller as a `SandboxError` with provider and operation filled in, and with
 * effect `none` if the call only reads. A `SandboxError` keeps its own code, detail and effect; anything else becomes
 * `provider` with effect `unknown`, or `aborted` if the signal fired meanwhile. What a call promises its callers is
 * written at the public method of the same name.
 */
export abstract class AdapterMethods {
  /** The most that this adapter can do. Data: read by callers, documentation and the conformance suite. */
  abstract readonly capabilities: ReadonlySet<SandboxCapability>;

  /** What it does where the contract leaves a choice. Data, like `capabilities`. */
  readonly traits: SandboxTraits = DEFAULT_TRAITS;

  /** Throws `invalid` for a name that no sandbox of this provider can have. The name is not empty. */
  protected checkName(_name: string): void {}

  /** What this one can do; a subset of `capabilities`. Asked before every call that needs a capability. */
  protected doCapabilitiesOf(
    _handle: SandboxHandle,
    _options: CallOptions,
  ): ReadonlySet<SandboxCapability> | Promise<ReadonlySet<SandboxCapability>> {
    return this.capabilities;
  }

  protected abstract doCreate(name: string, options: CreateOptions): Promise<SandboxHandle>;

  /** Needs `create_new`. */
  protected doCreateNew(_name: string, _options: CreateOptions): Promise<SandboxHandle> {
    return refused('createNew');
  }

  protected abstract doGet(handle: SandboxHandle, options: CallOptions): Promise<SandboxInfo>;

  protected abstract doDestroy(handle: SandboxHandle, options: CallOptions): Promise<void>;

  protected abstract doListAllNames(options: CallOptions): Promise<string[]>;

  /** Needs `suspend`. */
  protected doSuspend(_handle: SandboxHandle, _options: CallOptions): Promise<void> {
    return refused('suspend');
  }

  /** Needs `suspend`. */
  protected doResume(_handle: SandboxHandle, _options: CallOptions): Promise<SandboxHandle> {
    return refused('resume');
  }

  protected abstract doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void>;

  /** Needs `files`. */
  protected doReadFile(_handle: SandboxHandle, _path: string, _options: CallOptions): Promise<Uint8Array> {
    return refused('readFile');
  }

  /** Needs `files`. */
  protected doListFiles(_handle: SandboxHandle, _path: string, _options: CallOptions): Promise<FileEntry[]> {
    return refused('listFiles');
  }

  /** Needs `files`. */
  protected doStatFile(_handle: SandboxHandle, _path: string, _options: CallOptions): Promise<FileStat> {
    return refused('statFile');
  }

  protected abstract doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult>;

  /** With `request.tty`: needs `tty`. The signal covers the call, not the running command. */
  protected abstract doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand>;

  /** Needs `attach`. */
  protected doListSessions(_handle: SandboxHandle, _options: CallOptions): Promise<SandboxSession[]> {
    return refused('listSessions');
  }

  /** Needs `attach`. The signal covers the call, not the command. */
  protected doAttach(_handle: SandboxHandle, _request: AttachRequest): Promise<SandboxCommand> {
    return refused('attach');
  }

  /** Needs `terminate_session`. */
  protected doTerminateSession(_handle: SandboxHandle, _request: TerminateRequest): Promise<void> {
    return refused('terminateSession');
  }

  /** Needs `network_policy`. */
  protected doApplyNetworkPolicy(_handle: SandboxHandle, _policy: NetworkPolicy, _options: CallOptions): Promise<void> {
    return refused('applyNetworkPolicy');
  }

  /** Needs `public_url`. */
  protected doPublicUrl(_handle: SandboxHandle, _port: number, _options: CallOptions): Promise<string> {
    return refused('publicUrl');
  }

  /** Needs `checkpoint`. */
  protected doCreateCheckpoint(_handle: SandboxHandle, _options: CallOptions): Promise<Checkpoint> {
    return refused('createCheckpoint');
  }

  /** Needs `checkpoint`. */
  protected doRestoreCheckpoint(_handle: SandboxHandle, _id: string, _options: CallOptions): Promise<void> {
    return refused('restoreCheckpoint');
  }

  /** The path as it is, unless overridden. */
  protected doHostPath(_handle: SandboxHandle, path: string, _options: CallOptions): Promise<string> {
    return Promise.resolve(path);
  }
}

function refused(operation: string): Promise<never> {
  return Promise.reject(
    new SandboxError('not_supported', { operation, effect: 'none', message: `${operation} is not implemented` }),
  );
}
