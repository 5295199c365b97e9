import type { Exit, StreamOffsets } from '#libs/contract/core';

/**
 * The seam between the two roles of the daemon. The keeper owns the root, the children, their stdin queues, exit
 * records and journals, and knows no network; the link owns the socket and no child. Everything that crosses is plain
 * data, so that the keeper can move into a process of its own.
 *
 * Output bytes never cross: the keeper appends to a session's journal and announces its tail; the link reads the file.
 * Every rejection is a `SandboxError`.
 */
export interface Keeper extends SandboxKeeper, SessionKeeper {
  /**
   * Stops every process (TERM, grace, KILL), flushes and releases the root, if it is still there. Idempotent.
   *
   * @throws {SandboxError} `unavailable`: processes could not be ended, or the root not be left clean
   */
  close(): Promise<void>;
  stats(): KeeperStats;
}

export interface KeeperStats {
  /** Sessions whose leader runs, execs included. One that only left a background process is none of them. */
  readonly running: number;
  /** Sessions with a journal, finished ones included. */
  readonly sessions: number;
}

/** A sandbox is a directory under the root; its state lies outside it. */
export interface SandboxKeeper {
  /** Idempotent, adopting. @throws {SandboxError} `invalid`, `write_failed` / `disk_full`, `unavailable`: no root */
  create(name: string): Promise<void>;
  /** @throws {SandboxError} `not_found`; `unavailable`: it cannot be told */
  get(name: string): Promise<{ status: 'running' | 'suspended'; path: string }>;
  /** Already gone is success. @throws {SandboxError} `unavailable`: not everything could be removed; a retry goes on */
  destroy(name: string): Promise<void>;
  names(): Promise<string[]>;
  /**
   * Stops what runs and keeps the disk. Resolves after the exits were announced.
   *
   * @throws {SandboxError} `not_found`; `unavailable`: a process withstood, or, with effect `done`, everything was
   *   stopped but that could not be recorded
   */
  suspend(name: string): Promise<void>;
  /** @throws {SandboxError} `not_found`; `unavailable`, effect `none` */
  resume(name: string): Promise<void>;
  /**
   * Atomic: a temporary name, then a rename. Parents are created. Confined to the sandbox, symlinks included.
   *
   * @throws {SandboxError} `not_found`; `invalid` / `path_outside_sandbox`; `write_failed`; with effect `unknown` where
   *   parents may have been made
   */
  writeFile(name: string, path: string, data: Uint8Array, mode?: number): Promise<void>;
}

/**
 * Sessions of a keeper that ended before they did are `unavailable` / `session_lost` in every call that names one, until
 * their sandbox is destroyed: nobody measured their exits.
 */
export interface SessionKeeper {
  /**
   * Starts a process group in a sandbox. A program that cannot be started is a session that ends with `startError`.
   *
   * @throws {SandboxError} `not_found`: no such sandbox; `invalid` / `no_such_directory`, `argument_list_too_long`,
   *   `argument`; `unavailable` / `session_limit`: counted are those of which a process runs or holds a pipe
   */
  start(spec: SessionSpec): Promise<StartedSession>;
  /**
   * Writes at `offset` of stdin; resolves when the pipe took it, with how far stdin has got. A repeat of what was
   * applied is not applied again.
   *
   * @throws {SandboxError} `not_found`, `command_exited`, `write_failed`, `invalid` / `stdin_not_open`, `stdin_closed`
   */
  write(sandbox: string, id: string, offset: number | 'next', data: Uint8Array): Promise<{ applied: number }>;
  /** EOF once everything before it was written. Idempotent, also after exit. @throws {SandboxError} `not_found` */
  closeStdin(sandbox: string, id: string): Promise<void>;
  /** TERM (or `signal`), grace, KILL, observed. `gone` is true only when no process of the session is left. */
  stop(sandbox: string, id: string, how: { signal?: NodeJS.Signals; graceMs: number }): Promise<{ gone: boolean }>;
  /** Running detachable sessions, newest first. @throws {SandboxError} `not_found`: no such sandbox */
  list(sandbox: string): Promise<SessionDescription[]>;
  /** Where a session's journal lies and how far it goes. @throws {SandboxError} `not_found` */
  journal(sandbox: string, id: string): Promise<JournalView>;
  /**
   * Who reads, as absolute state: what lies before `reach` may be evicted at the journal's cap; on `hold` nothing is,
   * the process blocks instead; `detached` evicts the oldest and never blocks.
   */
  reach(sandbox: string, id: string, reach: StreamOffsets | 'detached' | 'hold'): void;
  /** Drops a session that ended and its journal. */
  forget(sandbox: string, id: string): Promise<void>;
  /** Announces, in order per session, every growth of a journal; the last announcement of a session has `ended`. */
  onTail(callback: (tail: SessionTail) => void): () => void;
}

export interface SessionSpec {
  readonly sandbox: string;
  readonly cmd: string;
  readonly args: readonly string[];
  readonly env: readonly (readonly [name: string, value: string])[];
  readonly dir?: string;
  /** @default false: the process reads /dev/null */
  readonly stdin?: boolean;
  readonly stderrToStdout?: boolean;
  /** Listed, and attachable later. */
  readonly detachable?: boolean;
  /** Then the group gets TERM, and KILL 2 s later. */
  readonly timeoutMs?: number;
  /** Of both streams together; beyond it the session is stopped the same way. */
  readonly maxOutputBytes?: number;
}

export interface StartedSession {
  /** 128 random bits; belongs to one sandbox. */
  readonly id: string;
  readonly directory: string;
}

export interface JournalView extends SessionTail {
  readonly directory: string;
  /** The earliest bytes that are still kept. */
  readonly oldest: StreamOffsets;
}

/** How far a journal goes: everything up to here is in its files. */
export interface SessionTail {
  readonly sandbox: string;
  readonly id: string;
  /** Bytes of the journal, record headers included. */
  readonly position: number;
  readonly offsets: StreamOffsets;
  /** The end of the session: its exit record is in the journal, or it was lost without one. */
  readonly ended?: SessionEnd;
}

export type SessionEnd =
  | {
      readonly exit: Exit;
      /** The limit at which the keeper stopped it. */
      readonly stoppedBy?: 'timeout' | 'output_limit';
      /** Whether no process of it was left. Only set with `stoppedBy`. */
      readonly gone?: boolean;
    }
  | { readonly lost: 'session_lost' | 'journal_failed' | 'disk_full' };

export interface SessionDescription {
  readonly id: string;
  readonly command: string;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly lastActivityAt: string;
  readonly tty: boolean;
}
