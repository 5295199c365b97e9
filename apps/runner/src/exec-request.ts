import { SandboxError, type Exit } from '#libs/contract/core';
import { JournalReader, type SessionEnd, type SessionKeeper, type SessionTail } from '#libs/process';
import { PROTOCOL_LIMITS, type Handled, type RequestBody, type ResultOf } from '#libs/protocol';
import type { Execs } from './execs.js';
import type { LinkLimits } from './limits.js';
import type { Log } from './log.js';
import { BEGINNING } from './session-feed.js';
import { later, type Tails } from './tails.js';
import type { Turns } from './turns.js';

export interface ExecContext {
  readonly keeper: SessionKeeper;
  readonly tails: Tails;
  /** At building a reply that is not small. */
  readonly turns: Turns;
  /** The commands under way. */
  readonly execs: Execs;
  /** Aborted when nobody can take a reply any more. */
  readonly signal: AbortSignal;
  readonly limits: LinkLimits;
  readonly log: Log;
}

interface Ended {
  readonly tail: SessionTail;
  readonly end: SessionEnd;
}

interface Output {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

const NOTHING: Output = { stdout: new Uint8Array(), stderr: new Uint8Array() };

/**
 * Runs a command to its end and answers with what it wrote. It ends with the socket: nobody could take the answer,
 * so its group is killed. Nothing of it is kept, whatever comes.
 */
export async function exec(body: RequestBody<'exec'>, requestId: number, context: ExecContext): Promise<Handled> {
  const { keeper, execs } = context;
  const sandbox = body.name;
  const started = keeper.start({
    sandbox,
    cmd: body.cmd,
    args: body.args,
    env: body.env ?? [],
    ...(body.dir !== undefined && { dir: body.dir }),
    ...(body.stderrToStdout !== undefined && { stderrToStdout: body.stderrToStdout }),
    // Platforms in the field say 0 for none.
    ...(body.timeoutMs && { timeoutMs: body.timeoutMs }),
    maxOutputBytes: Math.min(body.maxOutputBytes ?? Infinity, PROTOCOL_LIMITS.execOutputBytes),
  });
  const over = execs.add(requestId, sandbox, started);
  try {
    const { id } = await started;
    try {
      const { tail, end } = await followToEnd(sandbox, id, context);
      return { result: await answer(tail, measured(end), context) };
    } finally {
      void keeper.forget(sandbox, id).catch(() => {
        context.log.warn('the output of a command could not be removed', { sandbox, session: id });
      });
    }
  } finally {
    over();
  }
}

/** Resolves when the session has ended, with how far its journal goes. */
async function followToEnd(sandbox: string, id: string, { keeper, tails }: ExecContext): Promise<Ended> {
  let newest: SessionTail | undefined;
  let unfollow!: () => void;
  const ended = new Promise<SessionTail>((resolve) => {
    unfollow = tails.follow(sandbox, id, (tail) => {
      newest = tail;
      if (tail.ended) resolve(tail);
    });
  });
  try {
    const view = await keeper.journal(sandbox, id).catch((cause: unknown) => {
      throw new SandboxError('unavailable', { detail: 'session_lost', effect: 'unknown', cause });
    });
    newest = later(newest, view);
    const tail = newest.ended ? newest : await ended;
    return { tail, end: tail.ended as SessionEnd };
  } finally {
    unfollow();
  }
}

/** @throws {SandboxError} for every end that is not an exit which the command came to by itself */
function measured(end: SessionEnd): Exit {
  if ('lost' in end) throw new SandboxError('unavailable', { detail: end.lost, effect: 'unknown' });
  const effect = end.gone ? 'done' : 'unknown';
  if (end.stoppedBy === 'timeout') throw new SandboxError('unavailable', { detail: 'timeout', effect });
  if (end.stoppedBy === 'output_limit') throw new SandboxError('truncated', { detail: 'output_limit', effect });
  return end.exit;
}

/** Large replies take turns, and wait for a socket that takes more. */
async function answer(
  tail: SessionTail,
  { exitCode, signal, startError }: Exit,
  { keeper, turns, limits, signal: gone }: ExecContext,
): Promise<ResultOf<'exec'>> {
  const bytes = tail.offsets.stdout + tail.offsets.stderr;
  const leave = bytes > limits.smallExecBytes ? await turns.take() : undefined;
  try {
    if (gone.aborted) throw new SandboxError('unavailable', { detail: 'runner_disconnected' });
    const { stdout, stderr } = bytes > 0 ? await readOutput(tail, keeper, limits.readBytes) : NOTHING;
    return {
      output: stdout,
      stderr,
      code: exitCode,
      ...(signal !== undefined && { signal }),
      ...(startError !== undefined && { startError }),
    };
  } catch (error) {
    throw error instanceof SandboxError ? error.with({ effect: 'done' }) : error;
  } finally {
    leave?.();
  }
}

async function readOutput(tail: SessionTail, keeper: SessionKeeper, readBytes: number): Promise<Output> {
  const parts = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
  const reader = await JournalReader.open(await keeper.journal(tail.sandbox, tail.id), BEGINNING);
  try {
    while (reader.position < tail.position) {
      for (const record of await reader.read(tail.position, readBytes)) {
        if (record.type !== 'end') parts[record.type].push(record.data);
      }
    }
  } finally {
    await reader.close();
  }
  return { stdout: Buffer.concat(parts.stdout), stderr: Buffer.concat(parts.stderr) };
}
