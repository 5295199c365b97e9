import type { EmulatorServer } from '../kit/emulator-server.js';
import { execPost } from './exec-post.js';
import { attachSocket, execSocket } from './exec-socket.js';
import type { Fleet } from './fleet.js';
import { killSession } from './kill.js';
import type { Session } from './session.js';
import { enterVm, VM_HEADERS } from './vm.js';

const EXEC = '/v1/sprites/:name/exec';

export function addExecRoutes(server: EmulatorServer, fleet: Fleet): void {
  server.upgrade(EXEC, async (upgrade) => await execSocket(fleet, upgrade));
  server.upgrade(`${EXEC}/:id`, async (upgrade) => await attachSocket(fleet, upgrade));
  server.route('POST', EXEC, async (exchange) => await execPost(fleet, exchange));
  server.route('POST', `${EXEC}/:id/kill`, async (exchange) => await killSession(fleet, exchange));
  server.route('HEAD', EXEC, async (exchange) => {
    fleet.get(exchange.params['name']!);
    await exchange.send(200, VM_HEADERS, Buffer.alloc(0));
  });
  server.route('GET', EXEC, async (exchange) => {
    const { sprite, leave } = await enterVm(fleet, exchange);
    const sessions = sprite.sessions.live.map((session) => listed(session, fleet));
    const wrapped = fleet.settings.alternatives.sessionList === 'wrapper';
    const json = wrapped ? { count: sessions.length, sessions } : sessions;
    await exchange.reply({ status: 200, headers: VM_HEADERS, json }).finally(leave);
  });
}

/** `is_active` tells no more than it does at the service: false for a quiet command, true for a noisy detached one. */
function listed(session: Session, { settings }: Fleet): Record<string, unknown> {
  const quietMs = Date.now() - session.lastActivity.getTime();
  return {
    id: settings.alternatives.sessionId === 'string' ? session.id : session.process.pid,
    command: session.command,
    workdir: session.workdir,
    created: session.created.toISOString(),
    last_activity: session.lastActivity.toISOString(),
    bytes_per_second: 0,
    is_active: !session.attached && quietMs < 1_000,
    tty: session.request.tty,
  };
}
