import { join } from 'node:path';
import { invalidArgument } from './errors.js';
import { DIRECTORY_MARKER, SESSION_MARKER } from './process-table.js';

const INHERITED = new Set([
  'PATH',
  'LANG',
  'LANGUAGE',
  'TZ',
  'TERM',
  'USER',
  'LOGNAME',
  'SHELL',
  'TMPDIR',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
]);

/** Where programs are looked for when neither the daemon nor the request has a PATH. */
export const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export type Variables = readonly (readonly [name: string, value: string])[];

export interface EnvironmentOf {
  readonly sessionId: string;
  /** The sandbox: HOME. */
  readonly sandbox: string;
  /** The working directory: PWD. */
  readonly directory: string;
  /** What every command gets from the daemon. */
  readonly inherited: Variables;
  /** The request's own variables. They win, except over the markers. */
  readonly env: Variables;
}

/** The allow-list of the daemon's own variables: neither its token nor its settings reach a command. */
export function inheritedVariables(env: NodeJS.ProcessEnv = process.env): Variables {
  return Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && (INHERITED.has(name) || name.startsWith('LC_')) ? [[name, value] as const] : [],
  );
}

/**
 * The environment of a command: what is inherited, then what belongs to the sandbox, then what was asked for.
 *
 * @throws {SandboxError} `invalid` / `argument`
 */
export function commandEnvironment(of: EnvironmentOf): NodeJS.ProcessEnv {
  const result = Object.create(null) as NodeJS.ProcessEnv;
  for (const [name, value] of of.inherited) result[name] = value;
  result['HOME'] = of.sandbox;
  result['PWD'] = of.directory;
  result['PATH'] = `${join(of.sandbox, '.local', 'bin')}:${result['PATH'] || DEFAULT_PATH}`;
  for (const [name, value] of of.env) {
    // A name with `=` would silently become another name.
    if (!/^[^\s=\0]+$/.test(name)) throw invalidArgument('env: a name is empty or holds a space, "=" or NUL');
    if (value.includes('\0')) throw invalidArgument('env: a value holds NUL');
    result[name] = value;
  }
  result[SESSION_MARKER] = of.sessionId;
  result[DIRECTORY_MARKER] = of.sandbox;
  return result;
}
