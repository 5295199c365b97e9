import type { Deadline } from '../common/deadline.js';
import type { HttpAnswer } from '../common/http-client.js';
import { parseJsonLines, type JsonObject } from '../common/json.js';
import { spritePath, type SpritesClient } from './sprites.client.js';
import { isPage } from './sprites.errors.js';

const MAX_ANSWER_BYTES = 16 * 1024;
const BEFORE_THE_LAST: ReadonlySet<unknown> = new Set(['signal', 'timeout', 'exited', 'killed']);

export interface KillRequest {
  readonly name: string;
  readonly pid: string;
  readonly signal: 'SIGTERM' | 'SIGKILL';
  /** Before the service sends KILL. */
  readonly graceMs: number;
}

/** What came of it: `gone` was proved, `killed` by KILL; `ended` before; anything else proves nothing. */
export type KillOutcome =
  | { readonly outcome: 'gone'; readonly killed: boolean }
  | { readonly outcome: 'ended'; readonly status: 404 | 410 }
  | { readonly outcome: 'refused'; readonly answer: HttpAnswer }
  | { readonly outcome: 'unproved' };

/** Signals the process group of a session. Sent once, and the answer is believed only if it is whole. */
export async function killProcess(
  client: SpritesClient,
  { name, pid, signal, graceMs }: KillRequest,
  deadline: Deadline,
): Promise<KillOutcome> {
  const answer = await client.send({
    method: 'POST',
    path: spritePath(name, 'exec', pid, 'kill'),
    query: [
      ['signal', signal],
      ['timeout', `${graceMs}ms`],
    ],
    deadline,
    maxBytes: MAX_ANSWER_BYTES,
  });
  const { status } = answer;
  if (status === 404 || status === 410) return isPage(answer) ? { outcome: 'unproved' } : { outcome: 'ended', status };
  if (status >= 400 && status < 500) return { outcome: 'refused', answer };
  return (status === 200 && proof(answer.text(), signal, pid)) || { outcome: 'unproved' };
}

/**
 * Every line an object, the last one `complete` with an exit code, `exited` or `killed` before it. Where a line says
 * which process was signalled, one says that it was this one, and of a KILL there is such a line.
 */
function proof(text: string, signal: KillRequest['signal'], pid: string): KillOutcome | undefined {
  const lines = parseJsonLines(text);
  const last = lines?.at(-1);
  if (lines === undefined || last?.['type'] !== 'complete' || !isExitCode(last['exit_code'])) return undefined;
  const before = lines.slice(0, -1);
  if (!before.every(({ type }) => BEFORE_THE_LAST.has(type))) return undefined;
  const killed = before.some(({ type }) => type === 'killed');
  if (!killed && !before.some(({ type }) => type === 'exited')) return undefined;
  const sent = before.filter((line) => line['type'] === 'signal' && typeof line['pid'] === 'number');
  const isSignalled = sent.some((line) => String(line['pid']) === pid && (isKill(line) || signal === 'SIGTERM'));
  if (signal === 'SIGTERM') return sent.length === 0 || isSignalled ? { outcome: 'gone', killed } : undefined;
  return isSignalled ? { outcome: 'gone', killed: true } : undefined;
}

function isKill({ signal }: JsonObject): boolean {
  return signal === 'SIGKILL';
}

function isExitCode(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 255;
}
