import {
  CommandStream,
  SandboxError,
  type AttachRequest,
  type SandboxCommand,
  type SandboxHandle,
} from '#libs/contract';
import { unconfirmed } from '../common/failed-answer.js';
import { withinDeadline, type Deadline } from '../common/deadline.js';
import { journalCommand, type CommandInput } from '../common/journal-command.js';
import { commandExited, noSession, notRecorded, sessionLost } from '../common/journal-errors.js';
import { parseSessionId, type SessionId } from '../common/session-id.js';
import { checkSessionWord } from '../common/session-word.js';
import type { StdinOwners } from '../common/stdin-owners.js';
import { StdinTaken } from '../common/stdin-taken.js';
import { terminalCommand, type Terminal } from '../common/terminal-command.js';
import { TerminalOutput } from '../common/terminal-output.js';
import { socketTimeoutMs, type SpritesClient } from './sprites.client.js';
import { checkForeign, findSession } from './sprites.find-session.js';
import { probeSession } from './sprites.probe.js';
import { feedOf } from './sprites.start-command.js';
import { SessionStdin, attachStdin, type SessionStdinInit } from './sprites.stdin.js';
import { attachTerminal } from './sprites.terminal.js';

/** Joins a session of ours: its output comes out of its journal. */
export async function attachInSprite(
  client: SpritesClient,
  owners: StdinOwners,
  handle: SandboxHandle,
  request: AttachRequest,
): Promise<SandboxCommand> {
  const id = parseSessionId(request.sessionId);
  return withinDeadline(socketTimeoutMs(client), request.signal, async (deadline) => {
    if (id === undefined) {
      await checkForeign(client, handle.name, request.sessionId, deadline);
      throw noSession();
    }
    return join(client, owners, handle, { ...request, id }, deadline);
  });
}

async function join(
  client: SpritesClient,
  owners: StdinOwners,
  handle: SandboxHandle,
  request: AttachRequest & { readonly id: SessionId },
  deadline: Deadline,
): Promise<SandboxCommand> {
  const { id, sessionId, from } = request;
  const { name } = handle;
  const stream = new CommandStream();
  let stdin: SessionStdin | undefined;
  const taken = new StdinTaken();
  const { nonce } = id;
  const feed = feedOf(client, name, { nonce, stream, taken, survives: true, onEnd: () => stdin?.close() });
  try {
    const word = await feed.attach(from, deadline);
    if (checkSessionWord(word, request.stdin) === 'terminal')
      return await joinTerminal(client, handle, request, deadline);
    if (request.stdin && stream.end === undefined)
      stdin = await takeStdin(client, owners, handle, request, { taken, ended: stream.exit }, deadline);
  } catch (error) {
    feed.stop();
    throw error;
  }
  if (stream.end !== undefined) stdin?.close();
  const input: CommandInput = {
    write: (data, options) => stdin?.write(data, options) ?? Promise.reject(commandExited()),
    closeStdin: () => stdin?.closeStdin() ?? Promise.resolve(),
  };
  return journalCommand(handle, { stream, feed }, input, { operation: 'attach', sessionId, stdin: request.stdin });
}

/** `undefined`: it ended meanwhile, which its output will say. */
async function takeStdin(
  client: SpritesClient,
  owners: StdinOwners,
  { name }: SandboxHandle,
  { id, sessionId }: AttachRequest & { readonly id: SessionId },
  session: Pick<SessionStdinInit, 'taken' | 'ended'>,
  deadline: Deadline,
): Promise<SessionStdin | undefined> {
  const found = await findSession(client, name, id, deadline);
  if (found !== 'live') return undefined;
  const attach = () => attachStdin(client, name, id.pid);
  const process = await attach().catch(async (error: unknown) => {
    if (!(error instanceof SandboxError) || error.code !== 'not_found') throw error;
    if ((await findSession(client, name, id, deadline)) === 'live') throw unconfirmed('the attach to stdin', error);
    return undefined;
  });
  if (process === undefined) return undefined;
  const owner = owners.take(`${name}/${sessionId}`);
  return new SessionStdin({ ...session, process, owner, attach });
}

/** Nobody keeps what a terminal shows: it can be joined where it is. Of one that has ended there is only how. */
async function joinTerminal(
  client: SpritesClient,
  handle: SandboxHandle,
  request: AttachRequest & { readonly id: SessionId },
  deadline: Deadline,
): Promise<SandboxCommand> {
  if (request.from !== 'now') throw notRecorded();
  const found = await findSession(client, handle.name, request.id, deadline);
  if (found === 'live') return attachTerminal(client, handle, request, deadline);
  const asked = await probeSession(client, handle.name, request.id.nonce, deadline);
  if (asked.state === 'unknown') throw noSession();
  if (asked.state === 'alive') throw unconfirmed('whether the session has ended');
  const output = new TerminalOutput(false);
  if (asked.state === 'lost') output.stream.error(sessionLost());
  else output.stream.frame({ type: 'exit', ...asked.exit });
  return terminalCommand(handle, 'attach', request.sessionId, output, ENDED, request.stdin);
}

/** Nothing that is written to a terminal that has ended gets here. */
const ENDED: Terminal = {
  write: () => Promise.reject(commandExited()),
  closeStdin: () => Promise.resolve(),
  resize: () => Promise.resolve(),
  close: () => {},
};
