import { SandboxError } from '#libs/contract';
import { withinDeadline, type Deadline } from '../common/deadline.js';
import { asObject } from '../common/json.js';
import { newNonce } from '../common/session-id.js';
import { quote } from '../common/shell-quote.js';
import type { ReadFrom } from '../common/shim.js';
import type { InSandbox } from './daytona.context.js';
import { malformedReply, toolboxError } from './daytona.errors.js';
import { LogDemultiplexer } from './daytona.log-demultiplexer.js';
import { pollProgram } from './daytona.programs.js';
import { OWN_PREFIX } from './daytona.sessions.js';
import { connectSocket } from './daytona.socket.js';

/** For a push to be there, and for what is left of it to be gone: the service gives processes 5 s to end. */
const OPEN_MS = 15_000;
const DELETE_MS = 30_000;

/** Where pushed text goes. `closed` comes once, unless this end closed. */
export interface PushSink {
  text(data: Uint8Array): void;
  closed(): void;
}

export interface Push {
  /** Ends it, and what runs for it in the sandbox. Any number of times. */
  close(): void;
}

/** Has a journal pushed from there on: in lines of text, perhaps not to the end. */
export type OpenPush = (from: ReadFrom, sink: PushSink, signal: AbortSignal) => Promise<Push>;

/** By a session of the service in which a program reads the journal, and a WebSocket to the log of that session. */
export async function openPush(
  context: InSandbox,
  session: { readonly nonce: string; readonly pid: string },
  from: ReadFrom,
  sink: PushSink,
  signal: AbortSignal,
): Promise<Push> {
  const id = `${OWN_PREFIX}${newNonce()}`;
  const open = async (deadline: Deadline): Promise<Push> => {
    await ask(context, '/process/session', { sessionId: id }, deadline);
    const command = enclosed(pollProgram(session.nonce, session.pid, from));
    const exec = { command, runAsync: true, suppressInputEcho: true };
    const { cmdId } = (await ask(context, `/process/session/${id}/exec`, exec, deadline)) ?? {};
    if (typeof cmdId !== 'string' || cmdId === '') throw malformedReply('the command of a session');
    const log = new LogDemultiplexer((stream, data) => {
      if (stream === 'stdout') sink.text(data);
    });
    const socket = await connectSocket(
      context,
      context.handle,
      {
        path: `/process/session/${id}/command/${encodeURIComponent(cmdId)}/logs`,
        query: [['follow', 'true']],
        headers: { 'x-daytona-split-output': 'true' },
      },
      { binary: (data) => log.push(data), text: (text) => log.push(Buffer.from(text)), closed: () => sink.closed() },
      deadline,
    );
    if (socket === undefined) throw notRunning();
    let isOpen = true;
    return {
      close: () => {
        if (!isOpen) return;
        isOpen = false;
        socket.close();
        void remove(context, id);
      },
    };
  };
  try {
    return await withinDeadline(OPEN_MS, signal, open);
  } catch (error) {
    void remove(context, id);
    throw error;
  }
}

async function ask(
  { toolboxes, handle }: InSandbox,
  path: string,
  body: object,
  deadline: Deadline,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const request = { method: 'POST', path, json: body, deadline } as const;
  const answer = await toolboxes.call(handle, request, { again: false, wake: false });
  if (answer === undefined) throw notRunning();
  if (!answer.ok) throw toolboxError(answer);
  return asObject(answer.json());
}

/** Whether it succeeds, nobody can do more. It is gone with the next stop of the sandbox at the latest. */
async function remove({ toolboxes, handle }: InSandbox, id: string): Promise<void> {
  const request = { method: 'DELETE', path: `/process/session/${id}` } as const;
  const send = (deadline: Deadline) => toolboxes.call(handle, { ...request, deadline }, { again: true, wake: false });
  await withinDeadline(DELETE_MS, undefined, send).catch(() => {});
}

/** For the shell of a session, which must not end with the program, and may be any. */
function enclosed(program: string): string {
  const end = `end_${newNonce()}`;
  return `sh -c 'eval "$(cat)"' nestjs-sandbox <<${quote(end)}\nexec </dev/null\n${program}\n${end}\n`;
}

function notRunning(): SandboxError {
  return new SandboxError('unavailable', { effect: 'none', message: 'the sandbox does not run' });
}
