import { StreamingCommand, collectExec, type ExecRequest, type ExecResult } from '#libs/contract';
import { checkArguments } from '../common/command-words.js';
import { Deadline } from '../common/deadline.js';
import { USE_TIMEOUT_MS, type InSandbox } from './daytona.context.js';
import { runErrandWithin, type Errand } from './daytona.execute.js';
import { cleanProgram } from './daytona.programs.js';
import { startCommand, type StartedCommand } from './daytona.start-command.js';
import { JournalStdin } from './daytona.stdin.js';
import { stopSession } from './daytona.stop.js';

/** Between TERM and KILL, and for the answer. */
const GRACE_MS = 2_000;
const STOP_MS = 4_500;
/** A command that ends by then takes one request. Whoever stops it waits no longer than this. */
const HOLD_SECONDS = 1;
/** A larger journal is removed at once. */
const LARGE_BYTES = 1024 * 1024;
const CLEAN_MS = 30_000;

/** Runs a command to its end. */
export async function execInDaytona(context: InSandbox, request: ExecRequest): Promise<ExecResult> {
  checkArguments(request);
  const { stdin, signal, ...rest } = request;
  let started: StartedCommand | undefined;
  const end = { isStopped: false, isGone: true };
  const start = async (): Promise<StreamingCommand> => {
    const deadline = new Deadline(USE_TIMEOUT_MS, signal);
    try {
      const spec = { ...rest, stdin: stdin !== undefined, detachable: false, holdSeconds: HOLD_SECONDS, push: false };
      started = await startCommand(context, spec, deadline);
      return commandOf(context, started, stdin !== undefined);
    } finally {
      deadline[Symbol.dispose]();
    }
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

function commandOf(context: InSandbox, started: StartedCommand, stdin: boolean): StreamingCommand {
  const { stream, feed } = started;
  const channel = new JournalStdin(context, started, stream);
  return new StreamingCommand({
    provider: context.handle.provider,
    handle: context.handle,
    stream,
    channel: {
      write: (data, options) => channel.write(data, options),
      closeStdin: (options) => channel.closeStdin(options),
      taken: () => feed.taken(),
      stop: async () => feed.stop(),
    },
    stdin,
    tty: false,
  });
}

async function stopStarted(context: InSandbox, { nonce, pid }: StartedCommand): Promise<boolean> {
  const deadline = new Deadline(STOP_MS);
  try {
    return (await stopSession(context, { nonce, pid, graceMs: GRACE_MS }, deadline)) !== 'there';
  } finally {
    deadline[Symbol.dispose]();
  }
}

/** Its journal is nobody's any more; with what is large, nobody waits for the next command. */
function discard({ toolboxes, rubbish, handle }: InSandbox, { nonce, stream }: StartedCommand, isLarge: boolean): void {
  if (!isLarge && stream.outputBytes <= LARGE_BYTES) return rubbish.add(handle, nonce);
  const errand: Errand = { purpose: 'clean', program: cleanProgram([nonce]), again: true, wake: false };
  void runErrandWithin(toolboxes, handle, errand, CLEAN_MS).catch(() => {});
}
