import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { SandboxError } from '#libs/contract/core';
import { startChild } from './child.js';
import { commandEnvironment, type Variables } from './environment.js';
import { invalidArgument, systemError } from './errors.js';
import type { FifoPool } from './fifo-pool.js';
import { findProgram } from './find-program.js';
import { JournalWriter } from './journal-writer.js';
import type { SessionSpec } from './keeper.js';
import type { KeeperLimits } from './limits.js';
import { identifyLater } from './process-identity.js';
import type { Sandbox } from './sandbox.js';
import { Session } from './session.js';
import { workingDirectory } from './working-directory.js';

/** In a session's directory: which process leads it, for the daemon that comes after this one. */
export const PROCESS_RECORD = 'process.json';

/** Milliseconds after which a process is worth a record: short ones, which are many, do without. */
const RECORD_AFTER_MS = 250;

export interface StartContext {
  readonly fifos: FifoPool;
  readonly limits: KeeperLimits;
  readonly inherited: Variables;
}

/**
 * Starts a session in a sandbox that exists and is not suspended. Nothing is left of one that is refused.
 *
 * @throws {SandboxError} see `SessionKeeper.start`
 */
export async function startSession(
  sandbox: Sandbox,
  spec: SessionSpec,
  { fifos, limits, inherited }: StartContext,
): Promise<Session> {
  const id = `s-${randomBytes(16).toString('hex')}`;
  const directory = workingDirectory(sandbox.directory, spec.dir);
  const env = commandEnvironment({ sessionId: id, sandbox: sandbox.directory, directory, inherited, env: spec.env });
  const program = findProgram(spec.cmd, directory, env['PATH'] ?? '');
  const outputs = spec.stderrToStdout ? 1 : 2;
  const names = 'failed' in program ? [] : await fifos.take(outputs + (spec.stdin ? 1 : 0));
  let journal: JournalWriter | undefined;
  try {
    journal = openJournal(join(sandbox.journals, id), limits);
    const session = new Session(id, spec, journal, limits, sandbox);
    const child =
      'failed' in program
        ? program
        : await startChild({
            ...spec,
            program: program.path,
            directory,
            env,
            stdin: names[outputs],
            fifos: names.slice(0, outputs),
          });
    sandbox.add(session);
    if ('failed' in child) session.failToStart(child.failed);
    else {
      session.run(child);
      recordUnlessShort(session, journal.directory, child.pid);
    }
    return session;
  } catch (error) {
    journal?.close();
    for (const name of names) rmSync(name, { force: true });
    await rm(join(sandbox.journals, id), { recursive: true, force: true }).catch(() => {});
    throw systemError('unavailable', 'the session could not be started', error);
  }
}

/** @throws {SandboxError} `invalid` / `argument` */
export function checkSessionSpec(spec: SessionSpec): void {
  if (spec.cmd === '') throw invalidArgument('cmd: is empty');
  if ([spec.cmd, ...spec.args].some((argument) => argument.includes('\0')))
    throw invalidArgument('an argument holds NUL');
  const { timeoutMs, maxOutputBytes } = spec;
  if (timeoutMs !== undefined && !(timeoutMs > 0)) throw invalidArgument('timeoutMs: expected more than 0');
  if (maxOutputBytes !== undefined && !(maxOutputBytes >= 0))
    throw invalidArgument('maxOutputBytes: expected 0 or more');
}

function openJournal(directory: string, limits: KeeperLimits): JournalWriter {
  try {
    return new JournalWriter(directory, limits.segmentBytes);
  } catch (error) {
    const failure = systemError('unavailable', 'the journal could not be made', error, 'none');
    throw failure.detail ? failure : failure.with({ detail: 'journal_failed' });
  }
}

function recordUnlessShort(session: Session, directory: string, pid: number): void {
  const timer = setTimeout(() => {
    // Once the leader was reaped its pid may be another's.
    if (session.leaderRunning) void recordProcess(directory, pid);
  }, RECORD_AFTER_MS).unref();
  void session.finished.then(() => clearTimeout(timer));
}

async function recordProcess(directory: string, pid: number): Promise<void> {
  try {
    const identity = await identifyLater(pid);
    if (identity) writeFileSync(join(directory, PROCESS_RECORD), JSON.stringify(identity), { mode: 0o600 });
  } catch {
    // The marker in its environment is enough for nearly every process.
  }
}

export function sessionLimit(): SandboxError {
  return new SandboxError('unavailable', {
    detail: 'session_limit',
    message: 'as many sessions live here as may; one that left a background process behind is one of them',
    effect: 'none',
  });
}
