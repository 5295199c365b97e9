import { CommandStream, type AttachRequest, type SandboxCommand, type SandboxHandle } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { journalCommand, type CommandInput } from '../common/journal-command.js';
import { commandExited, noSession, notRecorded } from '../common/journal-errors.js';
import { parseSessionId, type SessionId } from '../common/session-id.js';
import { checkSessionWord } from '../common/session-word.js';
import type { StdinOwners } from '../common/stdin-owners.js';
import { E2bInput } from './e2b.input.js';
import type { E2bMachine } from './e2b.machine.js';
import { findSession } from './e2b.sessions.js';
import { feedOf } from './e2b.start-command.js';
import { SessionStdin } from './e2b.stdin.js';
import { joinTerminal } from './e2b.terminal.js';
import { checkForeign } from './e2b.terminate.js';

/** Joins a session of ours: its output comes out of its journal. */
export async function attachInSandbox(
  machine: E2bMachine,
  owners: StdinOwners,
  handle: SandboxHandle,
  request: AttachRequest,
  deadline: Deadline,
): Promise<SandboxCommand> {
  const id = parseSessionId(request.sessionId);
  if (id !== undefined) return join(machine, owners, handle, { ...request, id }, deadline);
  await checkForeign(machine, request.sessionId, deadline);
  throw noSession();
}

async function join(
  machine: E2bMachine,
  owners: StdinOwners,
  handle: SandboxHandle,
  request: AttachRequest & { readonly id: SessionId },
  deadline: Deadline,
): Promise<SandboxCommand> {
  const { id, sessionId, from } = request;
  const stream = new CommandStream();
  let stdin: SessionStdin | undefined;
  const feed = feedOf(machine, id.nonce, stream, () => stdin?.close());
  try {
    const word = await feed.attach(from, deadline);
    if (checkSessionWord(word, request.stdin) === 'terminal') return await terminal(machine, handle, request, deadline);
    if (request.stdin && stream.end === undefined) {
      stdin = await takeStdin(machine, owners, id, stream.exit, deadline);
    }
  } catch (error) {
    feed.stop();
    throw error;
  }
  if (stream.end !== undefined) stdin?.close();
  const input: CommandInput = {
    write: (data) => stdin?.write(data) ?? Promise.reject(commandExited()),
    closeStdin: () => stdin?.closeStdin() ?? Promise.resolve(),
  };
  return journalCommand(handle, { stream, feed }, input, { operation: 'attach', sessionId, stdin: request.stdin });
}

/** `undefined`: it ended meanwhile, which its output will say. */
async function takeStdin(
  machine: E2bMachine,
  owners: StdinOwners,
  id: SessionId,
  ended: Promise<unknown>,
  deadline: Deadline,
): Promise<SessionStdin | undefined> {
  if ((await findSession(machine, id, deadline)) === undefined) return undefined;
  const input = new E2bInput(machine, id.pid, false);
  return new SessionStdin({ machine, id, input, isCertain: () => false, owners, ended });
}

/** Nobody keeps what a terminal shows: it can be joined where it is. */
async function terminal(
  machine: E2bMachine,
  handle: SandboxHandle,
  request: AttachRequest & { readonly id: SessionId },
  deadline: Deadline,
): Promise<SandboxCommand> {
  if (request.from !== 'now') throw notRecorded();
  if ((await findSession(machine, request.id, deadline)) === undefined) throw noSession();
  return joinTerminal(machine, handle, request, deadline);
}
