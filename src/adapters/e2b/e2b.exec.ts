import {
  collectExec,
  type ExecRequest,
  type ExecResult,
  type SandboxCommand,
  type SandboxHandle,
} from '#libs/contract';
import { checkArguments } from '../common/command-words.js';
import { Deadline } from '../common/deadline.js';
import type { StdinOwners } from '../common/stdin-owners.js';
import type { E2bMachine } from './e2b.machine.js';
import type { E2bMachines } from './e2b.machines.js';
import { commandOf } from './e2b.spawn.js';
import { startCommand, type StartedCommand } from './e2b.start-command.js';
import { stopSession } from './e2b.stop.js';

/** Between TERM and KILL, and for the answer. */
const GRACE_MS = 2_000;
const STOP_MS = 4_500;

/** Runs a command to its end. */
export async function execInSandbox(
  machines: E2bMachines,
  owners: StdinOwners,
  timeoutMs: number,
  handle: SandboxHandle,
  request: ExecRequest,
): Promise<ExecResult> {
  checkArguments(request);
  const { stdin, signal, ...rest } = request;
  let started: { readonly machine: E2bMachine; readonly command: StartedCommand } | undefined;
  const start = async (): Promise<SandboxCommand> => {
    const deadline = new Deadline(timeoutMs, signal);
    try {
      const spec = { ...rest, stdin: stdin !== undefined, detachable: false };
      started = await machines.within(handle, deadline, async (machine) => ({
        machine,
        command: await startCommand(machine, spec, deadline),
      }));
      return commandOf(started.machine, owners, handle, started.command, stdin !== undefined);
    } finally {
      deadline[Symbol.dispose]();
    }
  };
  return collectExec(start(), {
    ...rest,
    ...(signal !== undefined && { signal }),
    ...(stdin !== undefined && { stdin }),
    stop: async () => ({ confirmed: started !== undefined && (await stop(started.machine, started.command)) }),
  });
}

async function stop(machine: E2bMachine, { process, nonce }: StartedCommand): Promise<boolean> {
  const deadline = new Deadline(STOP_MS);
  try {
    const outcome = await stopSession(machine, { pid: process.pid, nonce }, GRACE_MS, deadline);
    return outcome === 'gone' || outcome === 'absent';
  } finally {
    deadline[Symbol.dispose]();
  }
}
