import type { AttachRequest, SandboxCommand } from '#libs/contract';
import { withinDeadline, type Deadline } from '../common/deadline.js';
import { journalCommand } from '../common/journal-command.js';
import { noSession, notRecorded } from '../common/journal-errors.js';
import { newNonce, parseSessionId, type SessionId } from '../common/session-id.js';
import { checkSessionWord } from '../common/session-word.js';
import { USE_TIMEOUT_MS, type InSandbox } from './daytona.context.js';
import { feedOf } from './daytona.feed.js';
import { PatientStream } from './daytona.patient-stream.js';
import { checkForeign } from './daytona.sessions.js';
import { JournalStdin } from './daytona.stdin.js';
import { attachTerminal } from './daytona.terminal.js';

/** Joins a session of ours: its output comes out of its journal. */
export async function attachInDaytona(context: InSandbox, request: AttachRequest): Promise<SandboxCommand> {
  const id = parseSessionId(request.sessionId);
  return withinDeadline(USE_TIMEOUT_MS, request.signal, async (deadline) => {
    // A journal outlives a stop of its sandbox.
    await context.toolboxes.ready(context.handle, deadline);
    if (id === undefined) {
      await checkForeign(context, request.sessionId, deadline);
      throw noSession();
    }
    return join(context, { ...request, id }, deadline);
  });
}

async function join(
  context: InSandbox,
  request: AttachRequest & { readonly id: SessionId },
  deadline: Deadline,
): Promise<SandboxCommand> {
  const { id, sessionId, from } = request;
  const stream = new PatientStream();
  const feed = feedOf(context, { nonce: id.nonce, pid: () => id.pid, stream, push: true });
  const stdin = new JournalStdin(context, { nonce: id.nonce, owner: newNonce() }, stream);
  try {
    const word = await feed.attach(from, deadline);
    const isTerminal = checkSessionWord(word, request.stdin) === 'terminal';
    if (isTerminal && from !== 'now') throw notRecorded();
    // How it ended came right behind.
    if (isTerminal && stream.end === undefined) return await attachTerminal(context, request, deadline);
    if (request.stdin && stream.end === undefined) await stdin.claim(deadline.signal);
  } catch (error) {
    feed.stop();
    throw error;
  }
  return journalCommand(context.handle, { stream, feed }, stdin, {
    operation: 'attach',
    sessionId,
    stdin: request.stdin,
  });
}
