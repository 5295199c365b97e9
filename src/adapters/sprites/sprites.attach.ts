import {
  CommandStream,
  SandboxError,
  StreamingCommand,
  type AttachRequest,
  type SandboxCommand,
  type SandboxHandle,
} from '#libs/contract';
import { Deadline } from '../common/deadline.js';
import { beyondEnd, malformedWord, noSession, notRecorded } from '../common/journal-errors.js';
import { parseSessionId, type SessionId } from '../common/session-id.js';
import type { StdinOwners } from '../common/stdin-owners.js';
import { StdinTaken } from '../common/stdin-taken.js';
import { socketTimeoutMs, type SpritesClient } from './sprites.client.js';
import { checkForeign, findSession } from './sprites.find-session.js';
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
  const deadline = new Deadline(socketTimeoutMs(client), request.signal);
  try {
    if (id === undefined) {
      await checkForeign(client, handle.name, request.sessionId, deadline);
      throw noSession();
    }
    return await join(client, owners, handle, { ...request, id }, deadline);
  } finally {
    deadline[Symbol.dispose]();
  }
}

async function join(
  client: SpritesClient,
  owners: StdinOwners,
  handle: SandboxHandle,
  request: AttachRequest & { readonly id: SessionId },
  deadline: Deadline,
): Promise<SandboxCommand> {
  const { id, sessionId, from } = request;
  const { name, provider } = handle;
  const stream = new CommandStream();
  let stdin: SessionStdin | undefined;
  const taken = new StdinTaken();
  const { nonce } = id;
  const feed = feedOf(client, name, { nonce, stream, taken, survives: true, onEnd: () => stdin?.close() });
  const [word, ...values] = await feed.attach(from, deadline);
  if (word === 't') return joinTerminal(client, handle, request, deadline);
  if (word === 'n') throw noSession();
  if (word === 'b') throw beyondEnd();
  try {
    if (word !== 'f' || values.length !== 3) throw malformedWord();
    if (request.stdin && values[2] !== '1') throw stdinNotOpen();
    if (request.stdin && stream.end === undefined)
      stdin = await takeStdin(client, owners, handle, request, { taken, ended: stream.exit }, deadline);
  } catch (error) {
    feed.stop();
    throw error;
  }
  if (stream.end !== undefined) stdin?.close();
  return new StreamingCommand({
    provider,
    operation: 'attach',
    handle,
    sessionId,
    stream,
    channel: {
      write: (data, options) => stdin?.write(data, options) ?? Promise.reject(exited()),
      closeStdin: () => stdin?.closeStdin() ?? Promise.resolve(),
      taken: () => feed.taken(),
      stop: async () => feed.stop(),
    },
    stdin: request.stdin,
    tty: false,
  });
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
  const process = await attach().catch((error: unknown) => {
    if (error instanceof SandboxError && error.code === 'not_found') return undefined;
    throw error;
  });
  if (process === undefined) return undefined;
  const owner = owners.take(`${name}/${sessionId}`);
  return new SessionStdin({ ...session, process, owner, attach });
}

/** Nobody keeps what a terminal shows: it can be joined where it is. */
async function joinTerminal(
  client: SpritesClient,
  handle: SandboxHandle,
  request: AttachRequest & { readonly id: SessionId },
  deadline: Deadline,
): Promise<SandboxCommand> {
  if (request.from !== 'now') throw notRecorded();
  const found = await findSession(client, handle.name, request.id, deadline);
  if (found === 'live') return attachTerminal(client, handle, request, deadline);
  throw noSession();
}

function exited(): SandboxError {
  return new SandboxError('command_exited', { effect: 'none', message: 'the command has exited' });
}

function stdinNotOpen(): SandboxError {
  return new SandboxError('invalid', {
    detail: 'stdin_not_open',
    effect: 'none',
    message: 'the stdin of this session was not opened',
  });
}
