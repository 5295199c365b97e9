import { createHash } from 'node:crypto';
import type { Exchange } from '../kit/exchange.js';
import { ConnectFailure } from './connect-protocol.js';
import { refusal } from './refusals.js';
import type { Sandbox } from './sandbox.js';
import type { UserFiles } from './user-files.js';
import { atLeast } from './version.js';

const UNAUTHORIZED = 'unauthorized access, please provide a valid access token or method signing if supported';

/** @throws {Refusal} 401 */
export function checkToken({ accessToken }: Sandbox, { headers }: Exchange): void {
  if (accessToken === undefined || headers['x-access-token'] === accessToken) return;
  throw refusal(401, UNAUTHORIZED);
}

/** A file call may be signed in the place of the token. @throws {Refusal} 401 */
export function checkSignature(sandbox: Sandbox, exchange: Exchange, operation: 'read' | 'write'): void {
  const { accessToken } = sandbox;
  const { query, headers } = exchange;
  if (accessToken === undefined || headers['x-access-token'] === accessToken) return;
  const signature = query.get('signature');
  if (headers['x-access-token'] !== undefined || signature === null) throw refusal(401, UNAUTHORIZED);
  const expiry = query.get('signature_expiration');
  const parts = [query.get('path') ?? '', operation, query.get('username') ?? '', accessToken];
  if (expiry !== null) parts.push(expiry);
  const digest = createHash('sha256').update(parts.join(':')).digest('base64').replaceAll('=', '');
  if (signature !== `v1_${digest}`) throw refusal(401, 'invalid signature');
  if (expiry !== null && Number(expiry) * 1000 < Date.now()) throw refusal(401, 'signature is already expired');
}

/** The user of a call, by the name in its Basic header. @throws {ConnectFailure} `unauthenticated` */
export function rpcUser(sandbox: Sandbox, { headers }: Exchange): UserFiles {
  const [, encoded] = /^Basic (\S+)$/i.exec(headers.authorization ?? '') ?? [];
  const name = encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString().split(':')[0];
  if (name === undefined && !atLeast(sandbox.settings.envdVersion, '0.4.0')) {
    throw new ConnectFailure('unauthenticated', 'no user specified');
  }
  const files = sandbox.filesOf(name);
  if (!files) throw new ConnectFailure('unauthenticated', `invalid username: '${name}'`);
  return files;
}

/** The user of a file call, by the query. @throws {Refusal} 401 */
export function fileUser(sandbox: Sandbox, { query }: Exchange): UserFiles {
  const name = query.get('username') || undefined;
  const files = sandbox.filesOf(name);
  if (!files) throw refusal(401, `invalid username: '${name}'`);
  return files;
}
