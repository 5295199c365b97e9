import {
  collectExec,
  type ExecRequest,
  type ExecResult,
  type SandboxHandle,
  type StreamingCommand,
} from '#libs/contract';
import { checkArguments } from '../common/command-words.js';
import { withinDeadline, type Deadline } from '../common/deadline.js';
import { EXEC_STOP } from '../common/exec-stop.js';
import { journalCommand } from '../common/journal-command.js';
import { socketTimeoutMs, type SpritesClient } from './sprites.client.js';
import { findSession } from './sprites.find-session.js';
import { killProcess } from './sprites.kill.js';
import { startCommand, type StartedCommand } from './sprites.start-command.js';
import { SessionStdin } from './sprites.stdin.js';

/** After the time of an exec, so that it is the exec that says so. */
const LATER_MS = 50;

/** Runs a command to its end over one connection. */
export async function execInSprite(
  client: SpritesClient,
  handle: SandboxHandle,
  request: ExecRequest,
): Promise<ExecResult> {
  checkArguments(request);
  const { stdin, signal, ...rest } = request;
  let started: StartedCommand | undefined;
  const start = async (): Promise<StreamingCommand> => {
    const spec = { ...rest, stdin: stdin !== undefined, detachable: false, once: true };
    const begin = (deadline: Deadline) =>
      withinDeadline(connectMs(client, request), signal, (connecting) =>
        startCommand(client, handle.name, spec, deadline, connecting),
      );
    started = await withinDeadline(socketTimeoutMs(client), signal, begin);
    const input = new SessionStdin({ ...started, ended: started.stream.exit });
    return journalCommand(handle, started, input, { stdin: stdin !== undefined });
  };
  return collectExec(start(), {
    ...rest,
    ...(signal !== undefined && { signal }),
    ...(stdin !== undefined && { stdin }),
    stop: async () => ({ confirmed: started !== undefined && (await stop(client, handle.name, started)) }),
  });
}

/** Nothing is started for a caller who was told by then that the time is up. */
function connectMs(client: SpritesClient, { timeoutMs = Infinity, startedAtMs }: ExecRequest): number {
  return Math.min(socketTimeoutMs(client), Math.max(0, startedAtMs + timeoutMs - performance.now()) + LATER_MS);
}

/**
 * While its connection is open, the id of the process cannot be another's. After that the service may have given it
 * away. A 404 to the kill may be that of something on the way: the list must be without it.
 */
function stop(client: SpritesClient, name: string, { process, nonce }: StartedCommand): Promise<boolean> {
  const { pid, isOpen } = process;
  return withinDeadline(EXEC_STOP.timeoutMs, undefined, async (deadline) => {
    const isLive = async (): Promise<boolean> => (await findSession(client, name, { pid, nonce }, deadline)) === 'live';
    if (!isOpen && !(await isLive())) return true;
    const { outcome } = await killProcess(
      client,
      { name, pid, signal: 'SIGTERM', graceMs: EXEC_STOP.graceMs },
      deadline,
    );
    return outcome === 'gone' || (outcome === 'ended' && !(await isLive()));
  });
}
