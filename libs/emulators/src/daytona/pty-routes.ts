import { BareFailure } from './daemon-failure.js';
import type { Pty, PtyRequest } from './pty.js';
import { daemonBody, type ToolboxRoutes, type ToolboxUpgrade } from './toolbox-routes.js';

const MOST = 1000;
const PTY = '/process/pty/:pty';
const ENVS = 'X-Daytona-Pty-Envs~';
const EXIT_CONTROL = 'X-Daytona-Pty-Exit-Control';

export function addPtyRoutes(routes: ToolboxRoutes, current: boolean): void {
  routes.add('POST', '/process/pty', async ({ sandbox, exchange }) => {
    const request = requestOf(await daemonBody(exchange));
    if (sandbox.ptys.find(request.id)) throw failure(409, `PTY session ${request.id} already exists`);
    await sandbox.ptys.start(request).catch((error: unknown) => {
      throw failure(500, (error as Error).message);
    });
    return { status: 201, json: { sessionId: request.id } };
  });

  routes.add('GET', '/process/pty', async ({ sandbox }) => {
    return { status: 200, json: { sessions: sandbox.ptys.all.map((pty) => pty.show()) } };
  });

  routes.add('GET', PTY, async ({ sandbox, exchange }) => {
    return { status: 200, json: found(sandbox.ptys.find(exchange.params['pty']!)).show() };
  });

  routes.add('POST', `${PTY}/resize`, async ({ sandbox, exchange }) => {
    const pty = found(sandbox.ptys.find(exchange.params['pty']!));
    const { cols, rows } = await daemonBody(exchange);
    if (!fits(cols) || !fits(rows)) throw failure(400, `cols and rows must be from 1 to ${MOST}`);
    pty.resize(cols, rows);
    return { status: 200, json: pty.show() };
  });

  routes.add('DELETE', PTY, async ({ sandbox, exchange }) => {
    await found(sandbox.ptys.find(exchange.params['pty']!)).kill();
    return { status: 200, json: { message: 'PTY session deleted' } };
  });

  routes.addUpgrade(`${PTY}/connect`, async ({ sandbox, upgrade }) => {
    const pty = found(sandbox.ptys.find(upgrade.params['pty']!));
    const channel = await upgrade.accept();
    pty.connect(channel, offered(upgrade).includes(EXIT_CONTROL));
    await channel.whenClosed;
  });

  if (current) routes.addUpgrade('/process/pty/create-connect', createAndConnect);
}

/** What fails is told on the socket. */
async function createAndConnect({ sandbox, upgrade }: ToolboxUpgrade): Promise<void> {
  const { query } = upgrade;
  const number = (name: string) => (query.has(name) ? { [name]: Number(query.get(name)) } : {});
  const channel = await upgrade.accept();
  try {
    const request = requestOf({
      id: query.get('id') ?? '',
      ...(query.get('cwd') && { cwd: query.get('cwd') }),
      ...number('cols'),
      ...number('rows'),
      envs: envsIn(offered(upgrade)),
    });
    if (sandbox.ptys.find(request.id)) throw new Error(`PTY session ${request.id} already exists`);
    (await sandbox.ptys.start(request)).connect(channel, offered(upgrade).includes(EXIT_CONTROL));
  } catch (error) {
    const text = error instanceof BareFailure ? String(Object(error.answer.json).error) : (error as Error).message;
    await channel.send(JSON.stringify({ type: 'control', status: 'error', error: text }));
    await channel.close(1011);
  }
  await channel.whenClosed;
}

function offered({ headers }: ToolboxUpgrade['upgrade']): readonly string[] {
  return (headers['sec-websocket-protocol'] ?? '').split(',').map((protocol) => protocol.trim());
}

function envsIn(protocols: readonly string[]): unknown {
  const coded = protocols.find((protocol) => protocol.startsWith(ENVS))?.slice(ENVS.length);
  return coded === undefined ? {} : JSON.parse(Buffer.from(coded, 'base64url').toString());
}

/** @throws {BareFailure} 400 */
function requestOf(body: Readonly<Record<string, unknown>>): PtyRequest {
  const { id, cwd, envs, cols = 80, rows = 24 } = body;
  if (typeof id !== 'string' || id === '') throw failure(400, 'id is required');
  if (!fits(cols) || !fits(rows)) throw failure(400, `cols and rows must be from 1 to ${MOST}`);
  return {
    id,
    ...(typeof cwd === 'string' && cwd !== '' && { cwd }),
    envs: Object(envs ?? {}) as Record<string, string>,
    cols,
    rows,
  };
}

function fits(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST;
}

/** @throws {BareFailure} 404 */
function found(pty: Pty | undefined): Pty {
  if (!pty) throw failure(404, 'PTY session not found');
  return pty;
}

function failure(status: number, error: string): BareFailure {
  return new BareFailure({ status, json: { error } });
}
