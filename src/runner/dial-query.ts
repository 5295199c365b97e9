import type { IncomingMessage } from 'node:http';
import { DIAL, type DialQuery } from '#libs/protocol';

const MAX_LENGTH = 256;

/** What a daemon said of itself in the query of its dial, cleaned for logs and pages. */
export function dialQuery(request: IncomingMessage): Partial<DialQuery> {
  const parameters = queryOf(request);
  const said: Record<string, string> = {};
  for (const key of Object.keys(DIAL)) {
    const value = clean(parameters.get(key) ?? '');
    if (value !== '') said[key] = value;
  }
  return said;
}

/** Whether the query carries a token, which would end up in access logs. */
export function hasTokenInQuery(request: IncomingMessage): boolean {
  return queryOf(request).has('token');
}

/** The credential of `Authorization: Bearer …`. */
export function bearerOf(request: IncomingMessage): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
}

function queryOf(request: IncomingMessage): URLSearchParams {
  const url = request.url ?? '';
  const at = url.indexOf('?');
  return new URLSearchParams(at < 0 ? '' : url.slice(at + 1));
}

/** Without control, formatting and lone surrogate characters, and bounded. */
function clean(value: string): string {
  return Array.from(value.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, ''))
    .slice(0, MAX_LENGTH)
    .join('')
    .trim();
}
