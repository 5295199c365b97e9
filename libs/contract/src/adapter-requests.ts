import type { ByteSource } from './bytes.js';
import type { StreamOffsets, TerminalSize } from './frames.js';
import type { CallOptions } from './operations.js';
import type { EnvPair } from './process-checks.js';

// What the protected methods of an adapter are given: checked, with every default filled in.

/** What an adapter is given of every process. */
export interface ProcessRequest extends CallOptions {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly env: readonly EnvPair[];
  /** `undefined`: the sandbox's home. */
  readonly dir?: string;
}

/** What `doExec` is given. */
export interface ExecRequest extends ProcessRequest {
  /** `performance.now()` when the call came in: `timeoutMs` counts from here. */
  readonly startedAtMs: number;
  /** `undefined`: no deadline. */
  readonly timeoutMs?: number;
  readonly stderrToStdout: boolean;
  /** Of both streams together. */
  readonly maxOutputBytes: number;
  /** `undefined`: the process reads /dev/null. */
  readonly stdin?: ByteSource;
}

/** What `doSpawn` is given. */
export interface SpawnRequest extends ProcessRequest {
  readonly stdin: boolean;
  /** `undefined`: no terminal. */
  readonly tty?: TerminalSize;
  readonly detachable: boolean;
}

/** What `doAttach` is given. */
export interface AttachRequest extends CallOptions {
  readonly sessionId: string;
  readonly from: StreamOffsets | 'now';
  readonly stdin: boolean;
}

/** What `doTerminateSession` is given. */
export interface TerminateRequest extends CallOptions {
  readonly sessionId: string;
  /** Grace between TERM and KILL. */
  readonly timeoutMs: number;
  readonly mode: 'graceful' | 'force';
}

/** What `doWriteFile` is given. */
export interface WriteFileRequest extends CallOptions {
  readonly path: string;
  /** Iterated at most once, by the adapter. */
  readonly content: ByteSource;
  /** `undefined`: 0o644 for a new file, an existing one keeps its own. */
  readonly mode?: number;
}
