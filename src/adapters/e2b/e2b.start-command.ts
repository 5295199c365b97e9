import { CommandStream, type ProcessRequest } from '#libs/contract';
import { titleOf } from '../common/command-words.js';
import { withinDeadline, type Deadline } from '../common/deadline.js';
import { FirstWord } from '../common/first-word.js';
import { JournalFeed } from '../common/journal-feed.js';
import { newNonce } from '../common/session-id.js';
import { parsed, type OpenReader, type ShProcess } from '../common/sh-process.js';
import { shimProgram } from '../common/shim.js';
import type { E2bMachine } from './e2b.machine.js';
import type { E2bProcess } from './e2b.process.js';
import { runProgram } from './e2b.run-program.js';
import { reap, startScript, startShell } from './e2b.start-process.js';

/** How a command without a terminal is started. */
export interface StartSpec extends ProcessRequest {
  readonly stdin: boolean;
  readonly detachable: boolean;
  readonly stderrToStdout: boolean;
  /** Until when, by `performance.now()`, the shim is waited for at most. @default for as long as a start may take */
  readonly untilMs?: number;
}

/** A command that runs under the shim, its output on its way into `stream`. */
export interface StartedCommand {
  readonly nonce: string;
  readonly process: E2bProcess;
  readonly stream: CommandStream;
  readonly feed: JournalFeed;
}

/**
 * Starts a command and resolves once the shim runs, which has looked at the directory by then. A failure after the
 * command was sent has effect `unknown`; what runs all the same is stopped, since nobody knows of it.
 *
 * @param deadline until which it is sent
 */
export async function startCommand(
  machine: E2bMachine,
  { untilMs = Infinity, ...spec }: StartSpec,
  deadline: Deadline,
): Promise<StartedCommand> {
  const nonce = newNonce();
  const stream = new CommandStream();
  let process: E2bProcess | undefined;
  const feed = feedOf(machine, nonce, stream, () => {
    if (stream.end === undefined || stream.end instanceof Error) process?.close();
    else process?.closeSoon();
  });
  const first = new FirstWord(feed.live);
  try {
    const kind = spec.detachable ? 'd' : 'c';
    const program = shimProgram({ ...spec, nonce, soleReader: true });
    const shown = { kind, nonce, title: titleOf(spec) } as const;
    const shell = await startShell(machine, shown, parsed(first), deadline);
    process = shell;
    // What it is handed perhaps runs, so that it is not let go of because the time to begin is up.
    const leftMs = Math.min(machine.control.startTimeoutMs, Math.max(0, untilMs - performance.now()));
    await withinDeadline(leftMs, spec.signal, (running) =>
      runProgram(machine, shell, shown, program, () => first.arrived, running),
    );
  } catch (error) {
    feed.stop();
    process?.close();
    throw error;
  }
  // What ended at once has let go of its process before it was known here.
  if (stream.end !== undefined) process.closeSoon();
  return { nonce, process, stream, feed };
}

/**
 * Of a session that runs, or did: every process outlives its streams. While it is fed, its sandbox is kept alive, and
 * while that is suspended, it waits.
 */
export function feedOf(machine: E2bMachine, nonce: string, stream: CommandStream, onEnd: () => void): JournalFeed {
  const { residents, control, id } = machine;
  const release = machine.hold();
  let last: { readonly nonce: string; readonly process: E2bProcess } | undefined;
  const openReader: OpenReader = async (program, sink, deadline) => {
    const spec = { kind: 'r', nonce: newNonce(), title: 'reads' } as const;
    const before = last;
    const process = await startScript(machine, spec, program, sink, deadline);
    last = { nonce: spec.nonce, process };
    // The one before was lost with its stream, and waits for ever to be read.
    if (before && !before.process.hasEnded) void reap(machine, before.nonce);
    return readerOf(machine, spec.nonce, process);
  };
  return new JournalFeed({
    nonce,
    stream,
    openReader,
    ready: () => residents.ready(id),
    timeoutMs: control.options.timeoutMs,
    survives: true,
    onEnd: () => {
      release();
      onEnd();
    },
  });
}

/** Nobody else ends a reader. */
function readerOf(machine: E2bMachine, nonce: string, process: E2bProcess): ShProcess {
  let isClosed = false;
  return {
    get pid() {
      return process.pid;
    },
    write: (data) => process.write(data),
    closeStdin: () => process.closeStdin(),
    close: () => {
      if (isClosed) return;
      isClosed = true;
      process.close();
      if (!process.hasEnded) void reap(machine, nonce);
    },
  };
}
