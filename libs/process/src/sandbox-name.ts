import { invalidArgument } from './errors.js';

const SANDBOX_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,127}$/;

export function isSandboxName(name: string): boolean {
  return SANDBOX_NAME.test(name);
}

/**
 * A name is a directory's name: nothing that could leave the root, and nothing hidden.
 *
 * @throws {SandboxError} `invalid` / `argument`
 */
export function checkSandboxName(name: string): void {
  if (typeof name !== 'string' || !isSandboxName(name)) {
    throw invalidArgument('name: expected 1 to 128 of A-Z a-z 0-9 _ - and, not first, "."');
  }
}
