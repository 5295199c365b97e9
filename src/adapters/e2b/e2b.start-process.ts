import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError, type TerminalSize } from '#libs/contract';
import { withinDeadline, type Deadline } from '../common/deadline.js';
import { processTag, type ProcessKind } from '../common/session-id.js';
import { fromStdinWithin } from '../common/shim-start.js';
import { changedNothing } from './e2b.errors.js';
import { E2bProcess, type ProcessSink } from './e2b.process.js';
import { nothingMissing, type E2bMachine, type Reach } from './e2b.machine.js';
import { liveProcesses } from './e2b.sessions.js';

const REAP_MS = 5_000;
/** When what has a nonce is looked for again: its start may still be on its way. */
const REAP_AGAIN_MS = [500, 1_500] as const;

/** A process of ours as lists show it: by our tag, and by what it runs. */
export interface ProcessSpec {
  readonly kind: ProcessKind;
  readonly nonce: string;
  readonly title: string;
}

/**
 * Starts what waits for a program over stdin, so that neither its arguments nor its variables are in a list of
 * processes. Until it was sent nothing has run: a failure has effect `none`. What gets none in time ends, since nobody
 * may ever learn of it.
 */
export function startShell(
  machine: E2bMachine,
  spec: ProcessSpec,
  sink: ProcessSink,
  deadline: Deadline,
): Promise<E2bProcess> {
  const seconds = Math.ceil(machine.control.startTimeoutMs / 1000);
  return startScript(machine, spec, fromStdinWithin(seconds), sink, deadline).catch(changedNothing);
}

/** Starts a program that holds no secret: what lists of processes show. It leads a session of its own. */
export function startScript(
  machine: E2bMachine,
  spec: ProcessSpec,
  script: string,
  sink: ProcessSink,
  deadline: Deadline,
  reach?: Pick<Reach, 'wake'>,
): Promise<E2bProcess> {
  return start(machine, spec, { cmd: 'setsid', args: ['sh', '-c', script] }, undefined, sink, deadline, reach);
}

/** On a terminal, whose service lets it lead a session anyway. */
export function startOnTerminal(
  machine: E2bMachine,
  spec: ProcessSpec,
  script: string,
  size: TerminalSize,
  sink: ProcessSink,
  deadline: Deadline,
): Promise<E2bProcess> {
  return start(machine, spec, { cmd: 'sh', args: ['-c', script] }, size, sink, deadline).catch(changedNothing);
}

/** Joins a process that was just seen alive: what it prints from here on. */
export async function joinProcess(
  machine: E2bMachine,
  pid: string,
  tty: boolean,
  sink: ProcessSink,
  deadline: Deadline,
): Promise<E2bProcess> {
  const process = new E2bProcess(machine, sink, tty);
  try {
    await process.open('process.Process/Connect', { process: { pid: Number(pid) } }, deadline);
  } catch (error) {
    process.close();
    throw error;
  }
  return process;
}

/** Kills what has our nonce, if the sandbox runs. Whatever comes of it. */
export async function reap(machine: E2bMachine, ...nonces: readonly string[]): Promise<void> {
  const kill = async (deadline: Deadline): Promise<void> => {
    for (const { pid, tag } of await liveProcesses(machine, deadline, { wake: false })) {
      if (tag === undefined || !nonces.includes(tag.nonce)) continue;
      const selector = { process: { pid: Number(pid) } };
      // The signal reaches it alone; what it has started for its stdin ends with that.
      await machine.tryCall('process.Process/CloseStdin', selector, deadline, { wake: false });
      const message = { ...selector, signal: 'SIGNAL_SIGKILL' };
      await machine.tryCall('process.Process/SendSignal', message, deadline, { wake: false });
    }
  };
  // What lives on ends with its sandbox, or with what it reads.
  await withinDeadline(REAP_MS, undefined, kill).catch(() => {});
}

/** As {@link reap}, of what perhaps has yet to start. */
async function reapLate(machine: E2bMachine, nonce: string): Promise<void> {
  await reap(machine, nonce);
  for (const waitMs of REAP_AGAIN_MS) {
    await delay(waitMs, undefined, { ref: false });
    await reap(machine, nonce);
  }
}

async function start(
  machine: E2bMachine,
  { kind, nonce, title }: ProcessSpec,
  { cmd, args }: { readonly cmd: string; readonly args: readonly string[] },
  tty: TerminalSize | undefined,
  sink: ProcessSink,
  deadline: Deadline,
  reach?: Pick<Reach, 'wake'>,
): Promise<E2bProcess> {
  const process = new E2bProcess(machine, sink, tty !== undefined);
  const tag = processTag(kind, nonce);
  const message = {
    process: { cmd, args: [...args, tag, title] },
    ...(tty && { pty: { size: { cols: tty.cols, rows: tty.rows } } }),
    tag,
    stdin: true,
  };
  try {
    await process.open('process.Process/Start', message, deadline, reach).catch(nothingMissing(machine, 'the start'));
  } catch (error) {
    process.close();
    if (error instanceof SandboxError && error.effect === 'unknown') void reapLate(machine, nonce);
    throw error;
  }
  return process;
}
