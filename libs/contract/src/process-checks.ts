import { checkNonEmptyText, checkObject, checkText, invalidArgument, kindOf } from './checks.js';

/** A variable of a process's environment. Pairs, because `__proto__` is an ordinary name there. */
export type EnvPair = readonly [name: string, value: string];

const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const NO_ENV: readonly EnvPair[] = Object.freeze([]);

/** A program and its arguments. @throws {SandboxError} `invalid` / `argument` */
export function checkCommand(cmd: unknown, args: unknown): { cmd: string; args: readonly string[] } {
  const program = checkNonEmptyText('cmd', cmd);
  if (args === undefined) return { cmd: program, args: [] };
  if (!Array.isArray(args)) throw invalidArgument(`args: expected an array of strings, got ${kindOf(args)}`);
  return { cmd: program, args: Array.from(args, (arg, i) => checkText(`args[${i}]`, arg)) };
}

/**
 * The own properties of `env` in their order.
 *
 * @throws {SandboxError} `invalid` / `argument`
 */
export function checkEnv(env: unknown): readonly EnvPair[] {
  if (env === undefined || env === null) return NO_ENV;
  return Object.entries(checkObject('env', env)).map(([name, value]) => {
    checkEnvName(name);
    return [name, checkText(PLAIN_NAME.test(name) ? `env.${name}` : 'env: a value', value)];
  });
}

function checkEnvName(name: string): void {
  if (name === '') throw invalidArgument('env: a name must not be empty');
  // An operating system would split it there and set another variable than was asked for.
  if (name.includes('=')) throw invalidArgument('env: a name must not contain "="');
  // No shell can name it, and not every provider can carry it.
  if (/\s/.test(name)) throw invalidArgument('env: a name must not contain a space');
  checkText('env: a name', name);
}

/** A working directory or a path of a file. @throws {SandboxError} `invalid` / `argument` */
export function checkPath(argument: string, value: unknown): string {
  return checkNonEmptyText(argument, value);
}
