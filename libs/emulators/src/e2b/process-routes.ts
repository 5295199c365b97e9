import type { Exchange } from '../kit/exchange.js';
import { ConnectFailure, methodMissing, unary, written, type Message } from './connect-protocol.js';
import type { EnvdRoute } from './envd-route.js';
import { connectProcess, startProcess } from './process-streams.js';
import type { Sandbox } from './sandbox.js';
import { sizeOf } from './start-request.js';
import { atLeast } from './version.js';

const SIGNALS: Readonly<Record<string, 'SIGTERM' | 'SIGKILL'>> = {
  SIGNAL_SIGTERM: 'SIGTERM',
  SIGNAL_SIGKILL: 'SIGKILL',
  15: 'SIGTERM',
  9: 'SIGKILL',
};

type Call = (sandbox: Sandbox, message: Message) => Promise<Message>;

const UNARY: Readonly<Record<string, Call>> = {
  List: async (sandbox) => await Promise.resolve({ processes: sandbox.processes.live.map(shown) }),
  SendInput: sendInput,
  CloseStdin: closeStdin,
  SendSignal: async (sandbox, { process, signal }) => {
    const found = sandbox.processes.find(process);
    const known = SIGNALS[String(signal)];
    if (!known) throw new ConnectFailure('unimplemented', `invalid signal: ${String(signal)}`);
    if (!found.signal(known))
      throw new ConnectFailure('internal', 'error sending signal: os: process already finished');
    return await Promise.resolve({});
  },
  Update: async (sandbox, { process, pty }) => {
    const found = sandbox.processes.find(process);
    const { cols, rows } = sizeOf(pty);
    if (!found.request.pty) throw new ConnectFailure('internal', 'error resizing tty: tty not assigned to process');
    found.process.resize(cols, rows);
    return await Promise.resolve({});
  },
};

export const PROCESS_ROUTES: readonly EnvdRoute[] = [
  ['POST', '/process.Process/Start', startProcess],
  ['POST', '/process.Process/Connect', connectProcess],
  ...Object.entries(UNARY).map(([method, call]): EnvdRoute => [
    'POST',
    `/process.Process/${method}`,
    async (exchange, sandbox) => {
      const { settings } = sandbox;
      const old = method === 'CloseStdin' && !atLeast(settings.envdVersion, '0.5.2');
      await unary(exchange, async (message) => {
        if (old) throw methodMissing(exchange, settings);
        return written(await whileHeard(exchange, call(sandbox, message)), settings);
      });
    },
  ]),
];

/** Who hung up is not waited for, though what he asked for goes on. */
async function whileHeard(exchange: Exchange, answer: Promise<Message>): Promise<Message> {
  const gone = new Promise<Message>((resolve) => exchange.onGone(() => resolve({})));
  return await Promise.race([answer, gone]);
}

/** The environment of every process is shown, secrets and all. */
function shown({ request, pid }: Sandbox['processes']['live'][number]): Message {
  const { cmd, args, envs, cwd, tag } = request;
  return { config: { cmd, args, envs, ...(cwd !== '' && { cwd }) }, pid, ...(tag !== undefined && { tag }) };
}

async function sendInput(sandbox: Sandbox, { process, input }: Message): Promise<Message> {
  const found = sandbox.processes.find(process);
  const { stdin, pty } = Object(input) as Message;
  const text = stdin ?? pty;
  if (typeof text !== 'string') throw new ConnectFailure('unimplemented', 'invalid input type');
  if ((pty !== undefined) !== (found.request.pty !== undefined)) {
    throw new ConnectFailure('internal', `error writing to ${pty === undefined ? 'stdin' : 'tty'}: not assigned`);
  }
  const closed = !found.request.pty && found.stdinClosed;
  if (closed || !(await found.process.tryWrite(Buffer.from(text, 'base64')))) {
    const code = sandbox.settings.alternatives.closedStdin;
    throw new ConnectFailure(code, 'error writing to stdin: stdin not enabled or closed');
  }
  return {};
}

async function closeStdin(sandbox: Sandbox, { process }: Message): Promise<Message> {
  const found = sandbox.processes.find(process);
  if (found.request.pty)
    throw new ConnectFailure('unknown', 'cannot close stdin of a PTY process, send Ctrl+D instead');
  if (!found.stdinClosed) {
    found.stdinClosed = true;
    await found.process.closeStdin();
  }
  return {};
}
