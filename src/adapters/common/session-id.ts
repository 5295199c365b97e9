import { randomBytes } from 'node:crypto';

/** What tells one session from every other, past ones included: 128 random bits in letters and digits. */
export function newNonce(): string {
  return randomBytes(16).toString('hex');
}

/** A session of ours: the provider's id, which it may give to another process later, and our nonce. */
export interface SessionId {
  readonly pid: string;
  readonly nonce: string;
}

const SESSION_ID = /^([0-9]{1,20})-([0-9a-f]{32})$/;

/** `<pid>-<nonce>`. */
export function formatSessionId({ pid, nonce }: SessionId): string {
  return `${pid}-${nonce}`;
}

/** `undefined`: not one of ours. */
export function parseSessionId(id: string): SessionId | undefined {
  const [, pid, nonce] = SESSION_ID.exec(id) ?? [];
  return pid === undefined || nonce === undefined ? undefined : { pid, nonce };
}

/** What a process of ours is: `d` a detachable command, `c` another command, `r` one that reads a journal. */
export type ProcessKind = 'd' | 'c' | 'r';

/** Names a process of ours on its own command line. */
export function processTag(kind: ProcessKind, nonce: string): string {
  return `nestjs-sandbox:${kind}:${nonce}`;
}

const TAG = /(?:^|\s)nestjs-sandbox:([dcr]):([0-9a-f]{32})(?:\s([^]*))?$/;

/** The tag in a command line as a provider lists it, with what follows it. */
export function findTag(commandLine: string): { kind: ProcessKind; nonce: string; rest?: string } | undefined {
  const [, kind, nonce, rest] = TAG.exec(commandLine) ?? [];
  if (kind === undefined || nonce === undefined) return undefined;
  return { kind: kind as ProcessKind, nonce, ...(rest !== undefined && rest !== '' && { rest }) };
}
