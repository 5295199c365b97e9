import { once } from 'node:events';
import { request as requestTo, type IncomingMessage } from 'node:http';
import type { Exchange } from '../kit/exchange.js';
import { Refusal } from '../kit/answer.js';
import { edgeRefusal, noRoute, portClosed } from './refusals.js';
import type { Sandbox } from './sandbox.js';
import type { Sandboxes } from './sandboxes.js';

export const ENVD_PORT = 49_983;
const LEAST_RESUME_SECONDS = 300;
/** Routes of envd that nobody outside may use. */
const INTERNAL = new Set(['/init', '/freeze', '/unfreeze', '/collapse', '/fsfreeze', '/fsthaw', '/upgrade']);
const LABEL = /^(\d+)-([a-z0-9]+)(?:-[a-z0-9]+)?$/;
/** Headers that concern one connection only. */
const HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'te', 'trailer']);

/** Which port of which sandbox a request is for. */
export interface Target {
  readonly sandboxId: string;
  readonly port: number;
}

/**
 * By the two routing headers, or else by the first label of the host; `undefined`: it is no request into a sandbox.
 *
 * @throws {Refusal} 400
 */
export function targetOf({ headers }: Exchange): Target | undefined {
  const [id, port] = [headers['e2b-sandbox-id'], headers['e2b-sandbox-port']] as (string | undefined)[];
  const host = (headers.host ?? '').replace(/:\d+$/, '');
  const label = LABEL.exec(host.split('.')[0]!);
  if (label) return { sandboxId: label[2]!, port: Number(label[1]) };
  if (id === undefined && port === undefined) return undefined;
  if (id === undefined) throw malformed('missing header e2b-sandbox-id');
  if (port === undefined) throw malformed('missing header e2b-sandbox-port');
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)?$/.test(id)) throw malformed('invalid sandbox id');
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) throw malformed('invalid port');
  return { sandboxId: id.split('-')[0]!, port: Number(port) };
}

/**
 * The sandbox, if there is a way to it. One that is paused is woken where it asked for that.
 *
 * @throws {Refusal} 502 paused, gone or unknown; 403, 404, 409, 429
 */
export async function reached(sandboxes: Sandboxes, exchange: Exchange, target: Target): Promise<Sandbox> {
  const { sandboxId, port } = target;
  const sandbox = sandboxes.find(sandboxId);
  if (!sandbox || sandbox.lifecycle.shown === undefined) throw noRoute(sandboxId);
  if (port === ENVD_PORT && INTERNAL.has(exchange.call.path)) {
    throw new Refusal({ status: 404, json: { message: 'Not found', path: exchange.call.path, code: 404 } });
  }
  const given = exchange.headers['e2b-traffic-access-token'];
  if (port !== ENVD_PORT && sandbox.trafficToken !== undefined && given !== sandbox.trafficToken) {
    throw edgeRefusal(sandboxId, 403, 'The traffic access token is missing or wrong');
  }
  await passable(sandbox, exchange, port);
  if (exchange.headers['x-api-key'] !== undefined) sandbox.apiKeysSeen += 1;
  sandbox.connected(exchange);
  return sandbox;
}

async function passable(sandbox: Sandbox, exchange: Exchange, port: number): Promise<void> {
  const { lifecycle, request, accessToken, settings } = sandbox;
  if (lifecycle.state === 'running') return;
  const wakes = request.autoResume && lifecycle.hasMemory;
  if (lifecycle.state !== 'paused' && !wakes) {
    if (settings.alternatives.edgeInTransition === 502) throw noRoute(sandbox.id);
    throw edgeRefusal(sandbox.id, 409, 'The sandbox is changing its state');
  }
  if (!wakes) throw noRoute(sandbox.id);
  const trusted = accessToken === undefined || exchange.headers['x-access-token'] === accessToken;
  if (port === ENVD_PORT && !trusted) throw edgeRefusal(sandbox.id, 403, 'Not allowed to resume the sandbox');
  await lifecycle.connect(Math.max(LEAST_RESUME_SECONDS, request.timeoutSeconds));
}

/** Passes a request on to a port, which is one of this machine. */
export async function forward(exchange: Exchange, { sandboxId, port }: Target): Promise<void> {
  const { call, headers } = exchange;
  const query = call.query.toString();
  const path = query === '' ? call.path : `${call.path}?${query}`;
  const onward = requestTo({
    host: '127.0.0.1',
    port,
    method: call.method,
    path,
    headers: passed(headers),
    agent: false,
  });
  exchange.onGone(() => onward.destroy());
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    onward.once('response', resolve);
    onward.once('error', reject);
  });
  answered.catch(() => {});
  try {
    for await (const chunk of exchange.chunks()) {
      if (!onward.write(chunk)) await Promise.race([once(onward, 'drain'), answered]);
    }
    onward.end();
    const answer = await answered;
    await exchange.begin(answer.statusCode ?? 502, passed(answer.headers));
    for await (const chunk of answer as AsyncIterable<Buffer>) await exchange.write(chunk);
    await exchange.end();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') throw portClosed(sandboxId, port);
    exchange.cut();
  }
}

function passed<T extends object>(headers: T): T {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP.has(name))) as T;
}

function malformed(text: string): Refusal {
  return new Refusal({ status: 400, text });
}
