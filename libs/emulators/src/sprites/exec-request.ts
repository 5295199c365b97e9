import { refusal } from './refusals.js';
import { parseGoDuration } from './go-duration.js';
import type { SpritesSettings } from './options.js';

const MOST_COLUMNS = 10_000;

/** What the query of an exec asks for. */
export interface ExecRequest {
  readonly argv: readonly string[];
  /** The executable, when it is not `argv[0]`. */
  readonly path: string | undefined;
  readonly dir: string | undefined;
  readonly env: readonly (readonly [name: string, value: string])[];
  readonly tty: boolean;
  readonly cols: number;
  readonly rows: number;
  readonly stdin: boolean;
  /** Milliseconds the command lives on after the last client left. */
  readonly runAfterDisconnectMs: number;
}

/** @throws {Refusal} 400 */
export function execRequestOf(query: URLSearchParams, settings: SpritesSettings): ExecRequest {
  const argv = query.getAll('cmd');
  const tty = flag(query, 'tty') ?? false;
  return {
    argv: argv.length > 0 ? argv : ['bash'],
    path: query.get('path') || undefined,
    dir: query.get('dir') || undefined,
    env: query.getAll('env').map(variable),
    tty,
    cols: size(query, 'cols', 80),
    rows: size(query, 'rows', 24),
    stdin: flag(query, 'stdin') ?? tty,
    runAfterDisconnectMs: runAfterDisconnect(query, tty, settings),
  };
}

function runAfterDisconnect(query: URLSearchParams, tty: boolean, settings: SpritesSettings): number {
  const text = query.get('max_run_after_disconnect');
  if (text !== null) {
    const ms = parseGoDuration(text);
    if (ms === undefined) throw refusal(400, `invalid max_run_after_disconnect: ${text}`);
    return ms === 0 ? Infinity : ms;
  }
  const detachable = flag(query, 'detachable') === true && settings.alternatives.detachableAlone === 'unlimited';
  return tty || detachable ? Infinity : settings.runAfterDisconnectMs;
}

function variable(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw refusal(400, 'invalid env: expected KEY=VALUE');
  return [text.slice(0, at), text.slice(at + 1)];
}

function flag(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  return value === null ? undefined : value === 'true' || value === '1';
}

function size(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > MOST_COLUMNS) throw refusal(400, `invalid ${name}: ${text}`);
  return value || otherwise;
}
