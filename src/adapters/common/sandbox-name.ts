import { invalidArgument } from '#libs/contract';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** What all hosted providers take, in a path as in a body. @throws {SandboxError} `invalid` / `argument` */
export function checkSandboxName(name: string): void {
  if (NAME.test(name)) return;
  throw invalidArgument('name: expected 1 to 128 letters, digits, -, . and _, beginning with a letter or digit');
}
