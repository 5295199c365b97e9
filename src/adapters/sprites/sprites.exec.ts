import { StreamingCommand, collectExec, type ExecRequest, type ExecResult, type SandboxHandle } from '#libs/contract';
import { checkArguments } from '../common/command-words.js';
import { Deadline } from '../common/deadline.js';
import { socketTimeoutMs, type SpritesClient } from './sprites.client.js';
import { findSession } from './sprites.find-session.js';
import { killProcess } from './sprites.kill.js';
import { startCommand, type StartedCommand } from './sprites.start-command.js';
import { SessionStdin } from './sprites.stdin.js';

/** Between TERM and KILL, and for the answer. */
const GRACE_MS = 2_000;
const STOP_MS = 4_500;

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
    const deadline = new Deadline(socketTimeoutMs(client), signal);
    try {
      const spec = { ...rest, stdin: stdin !== undefined, detachable: false, once: true };
      started = await startCommand(client, handle.name, spec, deadline);
      return commandOf(handle, started, stdin !== undefined);
    } finally {
      deadline[Symbol.dispose]();
    }
  };
  return collectExec(start(), {
    ...rest,
    ...(signal !== undefined && { signal }),
    ...(stdin !== undefined && { stdin }),
    stop: async () => ({ confirmed: started !== undefined && (await stop(client, handle.name, started)) }),
  });
}

function commandOf(handle: SandboxHandle, started: StartedCommand, stdin: boolean): StreamingCommand {
  const { stream, feed } = started;
  const input = new SessionStdin({ ...started, ended: stream.exit });
  return new StreamingCommand({
    provider: handle.provider,
    handle,
    stream,
    channel: {
      write: (data, options) => input.write(data, options),
      closeStdin: () => input.closeStdin(),
      taken: () => feed.taken(),
      stop: async () => {
        feed.stop();
        input.close();
      },
    },
    stdin,
    tty: false,
  });
}

/**
 * While its connection is open, the id of the process cannot be another's. After that the service may have given it
 * away.
 */
async function stop(client: SpritesClient, name: string, { process, nonce }: StartedCommand): Promise<boolean> {
  const { pid, isOpen } = process;
  const deadline = new Deadline(STOP_MS);
  try {
    if (!isOpen && (await findSession(client, name, { pid, nonce }, deadline)) !== 'live') return true;
    const { outcome } = await killProcess(client, { name, pid, signal: 'SIGTERM', graceMs: GRACE_MS }, deadline);
    return outcome === 'gone' || outcome === 'ended';
  } finally {
    deadline[Symbol.dispose]();
  }
}
