import type { StreamOffsets, TerminalSize } from './frames.js';

/** Every call can be aborted: it then rejects `aborted` with `cause = signal.reason`. */
export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** Bytes to send: text is encoded as UTF-8. */
export type Bytes = Uint8Array | string;

/** Content of a file: whole, or in pieces that are sent as they come. */
export type FileContent = Bytes | AsyncIterable<Bytes>;

/** What `create` and `createNew` take beyond a name; adapters may extend it with settings of their own. */
export interface CreateOptions extends CallOptions {}

/** What a provider says about a sandbox. */
export interface SandboxInfo {
  readonly status: 'running' | 'suspended' | 'unknown';
  /** The provider's own answer, unread. */
  readonly raw: unknown;
}

/** What every process can be started with. */
export interface ProcessOptions extends CallOptions {
  /** Variables set on top of the sandbox's own environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Working directory. @default the sandbox's home */
  readonly dir?: string;
}

/** Of `exec`. */
export interface ExecOptions extends ProcessOptions {
  /**
   * Milliseconds until the process group gets TERM, and KILL 2 s later; the call then rejects `unavailable` /
   * `timeout` at the latest 5 s after. @default none
   */
  readonly timeoutMs?: number;
  /** Both streams into `output`, in the order in which the process wrote. @default false */
  readonly stderrToStdout?: boolean;
  /** Beyond it the process is stopped and the call rejects `truncated` / `output_limit`. @default 16 MiB */
  readonly maxOutputBytes?: number;
  /** What the process reads from stdin, then EOF. @default nothing: it reads /dev/null */
  readonly stdin?: FileContent;
}

/** Of `spawn`. */
export interface SpawnOptions extends ProcessOptions {
  /** Open stdin for `writeStdin`; otherwise the process reads /dev/null. @default false */
  readonly stdin?: boolean;
  /** Run on a pseudo-terminal; needs the capability `tty`. @default false */
  readonly tty?: boolean | TerminalSize;
  /** Live on after `stopCommand` or a lost connection; then listed, and can be attached. @default false */
  readonly detachable?: boolean;
}

/** Of `attach`. */
export interface AttachOptions extends CallOptions {
  /** Where to begin, per stream; `now` skips what was written before. @default the beginning of both */
  readonly from?: Partial<StreamOffsets> | 'now';
  /** Take over stdin: the newest attach with it owns it. @default false */
  readonly stdin?: boolean;
}

/** Of `writeFile`. */
export interface WriteFileOptions extends CallOptions {
  /** Permission bits 0–0o777, set whatever the umask. @default 0o644 for a new file, an existing one keeps its own */
  readonly mode?: number;
}

/** Of `terminateSession`. */
export interface TerminateOptions extends CallOptions {
  /** Grace between TERM and KILL in milliseconds, 1–30 000. @default 10 000 */
  readonly timeoutMs?: number;
  /** `force` kills at once. @default 'graceful' */
  readonly mode?: 'graceful' | 'force';
}

/** A session as its provider lists it. */
export interface SandboxSession {
  readonly id: string;
  readonly command?: string;
  readonly createdAt?: Date;
  readonly lastActivityAt?: Date;
  readonly tty: boolean;
}

/** What `statFile` says of a file. */
export interface FileStat {
  readonly type: 'file' | 'directory' | 'symlink' | 'other';
  readonly size: number;
  readonly mode: number;
  readonly modifiedAt: Date;
}

/** One entry of `listFiles`. */
export interface FileEntry extends FileStat {
  readonly name: string;
}

/** Which hosts a sandbox may reach; `[]` denies all egress. */
export interface NetworkPolicy {
  readonly allow: readonly string[];
}

/** A state of the disk that was kept. */
export interface Checkpoint {
  readonly id: string;
}
