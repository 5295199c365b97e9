import type { Answer } from '../kit/answer.js';
import { DaemonFailure, wrapped } from './daemon-failure.js';
import { sendInput } from './input.js';
import { logFormatOf, mergedLog, splitLog } from './log-format.js';
import type { Session } from './session.js';
import { daemonBody, goneOf, type ToolboxCall, type ToolboxRoutes } from './toolbox-routes.js';

const SESSION = '/process/session/:session';
const COMMAND = `${SESSION}/command/:command`;

export function addSessionRoutes(routes: ToolboxRoutes): void {
  routes.add('POST', '/process/session', async ({ sandbox, exchange }) => {
    const { sessionId } = await daemonBody(exchange);
    await sandbox.sessions.create(typeof sessionId === 'string' ? sessionId : '');
    return { status: 201 };
  });

  routes.add('GET', '/process/session', async ({ sandbox }) => {
    return { status: 200, json: await Promise.all(sandbox.sessions.all.map(show)) };
  });

  routes.add('GET', SESSION, async ({ sandbox, exchange }) => {
    const id = exchange.params['session']!;
    if (id === 'entrypoint') return { status: 200, json: { sessionId: id, commands: [] } };
    return { status: 200, json: await show(sandbox.sessions.get(id)) };
  });

  routes.add('DELETE', SESSION, async ({ sandbox, exchange }) => {
    await sandbox.sessions.delete(exchange.params['session']!);
    return { status: 204 };
  });

  routes.add('POST', `${SESSION}/exec`, execInSession);

  routes.add('GET', COMMAND, async ({ sandbox, exchange }) => {
    const { session, command } = exchange.params;
    return { status: 200, json: await sandbox.sessions.command(session!, command!).show() };
  });

  routes.add('POST', `${COMMAND}/input`, async ({ sandbox, exchange, signal }) => {
    const { session: sessionId, command } = exchange.params;
    const { data } = await daemonBody(exchange);
    if (typeof data !== 'string') throw new DaemonFailure(400, 'data is required', 'INVALID_REQUEST_BODY');
    const session = sandbox.sessions.get(sessionId!);
    await sendInput(session, sandbox.sessions.command(sessionId!, command!), data, sandbox.settings, signal);
    return { status: 204 };
  });
}

async function execInSession({ sandbox, exchange, signal }: ToolboxCall): Promise<Answer> {
  const body = await daemonBody(exchange);
  const { command: text, suppressInputEcho } = body;
  const runAsync = body['runAsync'] === true || body['async'] === true;
  if (typeof text !== 'string' || text.trim() === '') {
    throw new DaemonFailure(400, 'command is required', 'INVALID_REQUEST_BODY');
  }
  const { alternatives } = sandbox.settings;
  try {
    const session = sandbox.sessions.get(exchange.params['session']!);
    const command = session.exec(text, { runAsync, suppressInputEcho: suppressInputEcho === true });
    if (runAsync) return { status: 202, json: { cmdId: command.id } };
    await command.untilEnded(AbortSignal.any([signal, session.gone, goneOf(exchange)]));
    const exitCode = await command.readExitCode();
    const log = splitLog(await command.log());
    const format = logFormatOf(exchange.headers, alternatives);
    if (format === 'json') return { status: 200, json: { cmdId: command.id, ...log, exitCode } };
    const output = format === 'marked' ? log.output : mergedLog(await command.log()).toString();
    return { status: 200, json: { cmdId: command.id, output, exitCode } };
  } catch (error) {
    if (!(error instanceof DaemonFailure) || alternatives.execFailure === 'typed') throw error;
    throw wrapped(`failed to execute command: ${error.text}`);
  }
}

async function show(session: Session): Promise<Readonly<Record<string, unknown>>> {
  const commands = await Promise.all(session.commands.map(async (command) => await command.show()));
  return { sessionId: session.id, commands };
}
