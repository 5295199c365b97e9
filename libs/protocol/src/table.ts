import type { Typed } from './field.js';
import {
  bytes,
  count,
  exitCode,
  flag,
  integer,
  listOf,
  offsets,
  offsetsOrNow,
  oneOf,
  pairs,
  sessionId,
  text,
  texts,
} from './field-types.js';

// The only place where a name of the wire is spelled: types, direction and validation derive from these tables.

const name = text;
const env = pairs.opt();
const command = { name, cmd: text, args: texts, env, dir: text.opt() };
const limits = {
  timeoutMs: count.as('timeout_ms'),
  maxOutputBytes: count.as('max_output_bytes'),
};
const measured = { code: exitCode, signal: text.added(), startError: text.as('start_error').added() };

/** A session as `list_sessions` describes it. */
export const SESSION = {
  id: text,
  command: text.opt(),
  createdAt: text.as('created_at').opt(),
  lastActivityAt: text.as('last_activity_at').opt(),
  tty: flag.opt(),
  exitCode: integer.as('exit_code').opt(),
} as const;

/** Platform to daemon: what is asked, and what an `ok` reply brings. */
export const REQUESTS = {
  create: { body: { name }, result: {} },
  get: { body: { name }, result: { status: text.opt(), path: text.opt() } },
  destroy: { body: { name }, result: {} },
  list: { body: {}, result: { names: texts } },
  suspend: { body: { name }, result: {} },
  resume: { body: { name }, result: {} },
  write_file: { body: { name, path: text, data: bytes, mode: count.opt() }, result: {} },
  exec: {
    body: {
      ...command,
      timeoutMs: limits.timeoutMs.opt(),
      stderrToStdout: flag.as('stderr_to_stdout').opt(),
      maxOutputBytes: limits.maxOutputBytes.added(),
    },
    result: { output: bytes, stderr: bytes.added(), ...measured },
  },
  /** Stops the command of an exec that nobody waits for any more; not in the first daemons. */
  cancel: { body: { request: integer }, result: {} },
  spawn: {
    body: {
      ...command,
      stdin: flag.opt(),
      tty: flag.opt(),
      detachable: flag.opt(),
      stderrToStdout: flag.as('stderr_to_stdout').added(),
      timeoutMs: limits.timeoutMs.added(),
      maxOutputBytes: limits.maxOutputBytes.added(),
    },
    result: { sessionId },
  },
  stdin: { body: { name, sessionId, data: bytes }, result: {} },
  stdin_close: { body: { name, sessionId }, result: {} },
  detach: { body: { name: name.opt(), sessionId, hold: flag.added() }, result: {} },
  list_sessions: { body: { name }, result: { sessions: listOf(SESSION) } },
  attach: {
    body: { name, sessionId, stdin: flag.opt(), from: offsetsOrNow.added() },
    result: { sessionId, from: offsets.added() },
  },
} as const;

const replayFor = integer.as('replay_for').opt();
const output = { sessionId, data: bytes, offset: count.added(), replayFor };

/** Daemon to platform, unasked; the key stands in the member `stream`. */
export const EVENTS = {
  stdout: output,
  stderr: output,
  exit: {
    sessionId,
    ...measured,
    stoppedBy: oneOf('timeout', 'output_limit').as('stopped_by').added(),
    gone: flag.added(),
    replayFor,
  },
  /** A session that ended without an exit; platforms that do not know it ignore it. */
  error: { sessionId, error: text, detail: text.opt(), replayFor },
} as const;

/** What a refusal says beside `"ok": false`. */
export const REFUSAL = {
  error: text,
  detail: text.opt(),
  effect: oneOf('none', 'unknown', 'done').added(),
  oldest: offsets.added(),
} as const;

/** The words for errors that are the contract's own codes; any other word is `provider`. */
export const ERROR_WORDS = [
  'not_found',
  'command_exited',
  'not_supported',
  'invalid',
  'unavailable',
  'write_failed',
  'truncated',
] as const;

/** What a daemon says of itself in the query of its dial. */
export const DIAL = {
  name: text,
  hostname: text.opt(),
  os: text.opt(),
  arch: text.opt(),
  version: text.opt(),
  root: text.opt(),
  instance: text.added(),
} as const;

/** Where a daemon dials, below the platform's base URL. */
export const DIAL_PATH = '/api/runners/ws';

/** The name of a request. */
export type RequestOp = keyof typeof REQUESTS;
/** What a request says, with bytes as bytes. */
export type RequestBody<Op extends RequestOp> = Typed<(typeof REQUESTS)[Op]['body']>;
/** What its reply says. */
export type ResultOf<Op extends RequestOp> = Typed<(typeof REQUESTS)[Op]['result']>;
export type EventName = keyof typeof EVENTS;
export type EventBody<Name extends EventName> = Typed<(typeof EVENTS)[Name]>;
export type RefusalBody = Typed<typeof REFUSAL>;
export type DialQuery = Typed<typeof DIAL>;

export function isRequestOp(value: unknown): value is RequestOp {
  return typeof value === 'string' && Object.hasOwn(REQUESTS, value);
}

const READ_ONLY: ReadonlySet<RequestOp> = new Set<RequestOp>(['get', 'list', 'list_sessions', 'attach']);

/** Whether a request changes nothing, so that it has effect `none` however it fails. */
export function isReadOnly(op: RequestOp): boolean {
  return READ_ONLY.has(op);
}
