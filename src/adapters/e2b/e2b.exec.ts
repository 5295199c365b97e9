import {
  collectExec,
  type ExecRequest,
  type ExecResult,
  type SandboxCommand,
  type SandboxHandle,
} from '#libs/contract';
import { checkArguments } from '../common/command-words.js';
import { withinDeadline, type Deadline } from '../common/deadline.js';
import type { StdinOwners } from '../common/stdin-owners.js';
import { EXEC_STOP } from '../common/exec-stop.js';
import { abandon } from './e2b.abandon.js';
import type { E2bMachine } from './e2b.machine.js';
import type { E2bMachines } from './e2b.machines.js';
import { commandOf } from './e2b.spawn.js';
import { startCommand, type StartedCommand } from './e2b.start-command.js';
import { stopSession } from './e2b.stop.js';

/** After the time of a command is up, so that this is what its call rejects with. */
const LATE_MS = 100;
/** After the same, how long one that was sent is waited for, so that it can be stopped by its name. */
const PATIENCE_MS = 2_000;

/**
 * Runs a command to its end.
 *
 * @param timeoutMs in which it begins
 */
export async function execInSandbox(
  machines: E2bMachines,
  owners: StdinOwners,
  timeoutMs: number,
  handle: SandboxHandle,
  request: ExecRequest,
): Promise<ExecResult> {
  checkArguments(request);
  const { stdin, signal, ...rest } = request;
  const overMs = rest.startedAtMs + (rest.timeoutMs ?? Infinity);
  let started: { readonly machine: E2bMachine; readonly command: StartedCommand } | undefined;
  const start = async (): Promise<SandboxCommand> => {
    const spec = { ...rest, ...(signal && { signal }), stdin: stdin !== undefined, detachable: false };
    const leftMs = Math.max(0, overMs - performance.now());
    const begin = (deadline: Deadline) =>
      machines.within(handle, deadline, async (machine) => ({
        machine,
        command: await startCommand(machine, { ...spec, untilMs: overMs + PATIENCE_MS }, deadline),
      }));
    // What has not begun when the time of the command is up does not begin any more.
    started = await withinDeadline(Math.min(timeoutMs, leftMs + LATE_MS), signal, begin);
    return commandOf(started.machine, owners, handle, started.command, stdin !== undefined);
  };
  return collectExec(start(), {
    ...rest,
    ...(signal !== undefined && { signal }),
    ...(stdin !== undefined && { stdin }),
    stop: async () => ({ confirmed: started !== undefined && (await stop(started.machine, started.command)) }),
  });
}

/** Nobody else can: where it is not confirmed, it is tried again behind the back of whoever asked. */
async function stop(machine: E2bMachine, { process, nonce }: StartedCommand): Promise<boolean> {
  const { pid } = process;
  const outcome = await withinDeadline(EXEC_STOP.timeoutMs, undefined, (deadline) =>
    stopSession(machine, { pid, nonce }, EXEC_STOP.graceMs, deadline),
  ).catch(() => 'left');
  const isGone = outcome === 'gone' || outcome === 'absent';
  if (!isGone) void abandon(machine, pid, { kind: 'c', nonce });
  return isGone;
}
