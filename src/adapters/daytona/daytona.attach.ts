import { SandboxError, StreamingCommand, type AttachRequest, type SandboxCommand } from '#libs/contract';
import { Deadline } from '../common/deadline.js';
import { beyondEnd, malformedWord, noSession, notRecorded } from '../common/journal-errors.js';
import { newNonce, parseSessionId, type SessionId } from '../common/session-id.js';
import { USE_TIMEOUT_MS, type InSandbox } from './daytona.context.js';
import { feedOf } from './daytona.feed.js';
import { PatientStream } from './daytona.patient-stream.js';
import { checkForeign } from './daytona.sessions.js';
import { JournalStdin } from './daytona.stdin.js';
import { attachTerminal } from './daytona.terminal.js';

/** Joins a session of ours: its output comes out of its journal. */
export async function attachInDaytona(context: InSandbox, request: AttachRequest): Promise<SandboxCommand> {
  const id = parseSessionId(request.sessionId);
  const deadline = new Deadline(USE_TIMEOUT_MS, request.signal);
  try {
    // A journal outlives a stop of its sandbox.
    await context.toolboxes.ready(context.handle, deadline);
    if (id === undefined) {
      await checkForeign(context, request.sessionId, deadline);
      throw noSession();
    }
    return await join(context, { ...request, id }, deadline);
  } finally {
    deadline[Symbol.dispose]();
  }
}

async function join(
  context: InSandbox,
  request: AttachRequest & { readonly id: SessionId },
  deadline: Deadline,
): Promise<SandboxCommand> {
  const { id, sessionId, from } = request;
  const { handle } = context;
  const stream = new PatientStream();
  const feed = feedOf(context, { nonce: id.nonce, pid: () => id.pid, stream, push: true });
  const [word, ...values] = await feed.attach(from, deadline);
  if (word === 't') return joinTerminal(context, request, deadline);
  if (word === 'n') throw noSession();
  if (word === 'b') throw beyondEnd();
  const stdin = new JournalStdin(context, { nonce: id.nonce, owner: newNonce() }, stream);
  try {
    if (word !== 'f' || values.length !== 3) throw malformedWord();
    if (request.stdin && values[2] !== '1') throw stdinNotOpen();
    if (request.stdin && stream.end === undefined) await stdin.claim(deadline.signal);
  } catch (error) {
    feed.stop();
    throw error;
  }
  return new StreamingCommand({
    provider: handle.provider,
    operation: 'attach',
    handle,
    sessionId,
    stream,
    channel: {
      write: (data, options) => stdin.write(data, options),
      closeStdin: (options) => stdin.closeStdin(options),
      taken: () => feed.taken(),
      stop: async () => feed.stop(),
    },
    stdin: request.stdin,
    tty: false,
  });
}

/** Nobody keeps what a terminal shows: it can be joined where it is. */
function joinTerminal(
  context: InSandbox,
  request: AttachRequest & { readonly id: SessionId },
  deadline: Deadline,
): Promise<SandboxCommand> {
  if (request.from !== 'now') throw notRecorded();
  return attachTerminal(context, request, deadline);
}

function stdinNotOpen(): SandboxError {
  return new SandboxError('invalid', {
    detail: 'stdin_not_open',
    effect: 'none',
    message: 'the stdin of this session was not opened',
  });
}
