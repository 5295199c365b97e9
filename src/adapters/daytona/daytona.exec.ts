import { collectExec, type ExecRequest, type ExecResult, type StreamingCommand } from '#libs/contract';
import { checkArguments } from '../common/command-words.js';
import { withinDeadline } from '../common/deadline.js';
import { EXEC_STOP } from '../common/exec-stop.js';
import { journalCommand } from '../common/journal-command.js';
import { cleanUp } from './daytona.clean-up.js';
import { USE_TIMEOUT_MS, type InSandbox } from './daytona.context.js';
import { startCommand, type StartedCommand } from './daytona.start-command.js';
import { JournalStdin } from './daytona.stdin.js';
import { stopSession } from './daytona.stop.js';

/** A command that ends by then takes one request. Whoever stops it waits no longer than this. */
const HOLD_SECONDS = 1;
/** So much later than a command whose time is up its start is given up, so that the former is what is said. */
const LATER_MS = 100;
/** A larger journal is removed at once. */
const LARGE_BYTES = 1024 * 1024;

/** Runs a command to its end. */
export async function execInDaytona(context: InSandbox, request: ExecRequest): Promise<ExecResult> {
  checkArguments(request);
  const { stdin, signal, ...rest } = request;
  let started: StartedCommand | undefined;
  const end = { isStopped: false, isGone: true };
  const start = async (): Promise<StreamingCommand> => {
    const flags = { detachable: false, push: false, isPatient: true } as const;
    const spec = { ...rest, ...flags, stdin: stdin !== undefined, holdSeconds: HOLD_SECONDS };
    started = await withinDeadline(beginMs(request), signal, (deadline) => startCommand(context, spec, deadline));
    const input = new JournalStdin(context, started, started.stream);
    return journalCommand(context.handle, started, input, { stdin: stdin !== undefined });
  };
  const stop = async (): Promise<{ confirmed: boolean }> => {
    Object.assign(end, { isStopped: true, isGone: false });
    end.isGone = started !== undefined && (await stopStarted(context, started));
    return { confirmed: end.isGone };
  };
  try {
    return await collectExec(start(), {
      ...rest,
      ...(signal !== undefined && { signal }),
      ...(stdin !== undefined && { stdin }),
      stop,
    });
  } finally {
    // What may run on still needs its journal.
    if (started && end.isGone) discard(context, started, end.isStopped);
  }
}

/** What has not begun when the time of the command is up does not begin any more. */
function beginMs({ timeoutMs = Infinity, startedAtMs }: ExecRequest): number {
  return Math.min(USE_TIMEOUT_MS, Math.max(0, startedAtMs + timeoutMs - performance.now()) + LATER_MS);
}

async function stopStarted(context: InSandbox, { nonce, pid }: StartedCommand): Promise<boolean> {
  const session = { nonce, pid, graceMs: EXEC_STOP.graceMs };
  return (
    (await withinDeadline(EXEC_STOP.timeoutMs, undefined, (left) => stopSession(context, session, left))) !== 'there'
  );
}

/** Its journal is nobody's any more; with what is large, nobody waits for the next command. */
function discard(context: InSandbox, { nonce, stream }: StartedCommand, isLarge: boolean): void {
  if (isLarge || stream.outputBytes > LARGE_BYTES) void cleanUp(context, [`runs/${nonce}`]);
  else context.rubbish.add(context.handle, nonce);
}
