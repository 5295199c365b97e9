import type { SandboxOperation } from './adapter-operations.js';
import { checkObject, invalidArgument } from './checks.js';
import type {
  AttachOptions,
  CallOptions,
  ExecOptions,
  ProcessOptions,
  SpawnOptions,
  TerminateOptions,
  WriteFileOptions,
} from './operations.js';

/** Each option that a type has, and no other. */
type Names<T> = { readonly [name in keyof Required<T>]: true };

const CALL: Names<CallOptions> = { signal: true };
const PROCESS: Names<ProcessOptions> = { ...CALL, env: true, dir: true };
const EXEC: Names<ExecOptions> = {
  ...PROCESS,
  timeoutMs: true,
  stderrToStdout: true,
  maxOutputBytes: true,
  stdin: true,
};
const SPAWN: Names<SpawnOptions> = { ...PROCESS, stdin: true, tty: true, detachable: true };
const ATTACH: Names<AttachOptions> = { ...CALL, from: true, stdin: true };
const WRITE_FILE: Names<WriteFileOptions> = { ...CALL, mode: true };
const TERMINATE: Names<TerminateOptions> = { ...CALL, timeoutMs: true, mode: true };

/** What calls take beyond {@link CallOptions}. */
const NAMES: Partial<Record<SandboxOperation, object>> = {
  exec: EXEC,
  spawn: SPAWN,
  attach: ATTACH,
  writeFile: WRITE_FILE,
  terminateSession: TERMINATE,
};

/** Whose options adapters extend with settings of their own. */
const OPEN: ReadonlySet<string> = new Set<SandboxOperation>(['create', 'createNew']);

/** What may be repeated of a name that nobody knows: what could have been meant for an option. */
const PLAIN_NAME = /^[A-Za-z]{1,32}$/;

const NO_OPTIONS: CallOptions = Object.freeze({});

/**
 * The options of a call. It must know all of them: what it would ignore, its caller relies on. One that is `undefined`
 * was not given.
 *
 * @throws {SandboxError} `invalid` / `argument`
 */
export function checkOptions<O extends CallOptions>(
  operation: SandboxOperation | 'writeStdin' | 'closeStdin',
  given: O | null | undefined,
): O {
  if (given === undefined || given === null) return NO_OPTIONS as O;
  const options = checkObject('options', given);
  if (OPEN.has(operation)) return given;
  const known = NAMES[operation as SandboxOperation] ?? CALL;
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(known, name) || options[name] === undefined) continue;
    const unknown = PLAIN_NAME.test(name) ? `there is no '${name}'` : 'one has a name that there is not';
    throw invalidArgument(`options: ${unknown}; ${operation} takes ${Object.keys(known).join(', ')}`);
  }
  return given;
}
