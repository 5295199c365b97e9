import { SandboxError, type ProcessRequest } from '#libs/contract';

const MAX_TITLE = 200;

/** What lists show of a command: its words, without its variables. */
export function titleOf({ cmd, args }: Pick<ProcessRequest, 'cmd' | 'args'>): string {
  const title = [cmd, ...args].join(' ').replaceAll(/\p{Cc}+/gu, ' ');
  if (title.length <= MAX_TITLE) return title;
  // Never half a surrogate pair.
  const cut = title
    .slice(0, MAX_TITLE)
    .toWellFormed()
    .replace(/\uFFFD$/u, '');
  return `${cut}…`;
}

/** The longest argument and all of them together that Linux hands to a program. */
const MAX_WORD_BYTES = 128 * 1024 - 1;
const MAX_ARGV_BYTES = 2 * 1024 * 1024 - 64 * 1024;

/** @throws {SandboxError} `invalid` / `argument_list_too_long` */
export function checkArguments({ cmd, args, env }: ProcessRequest): void {
  let total = 0;
  for (const word of [cmd, ...args, ...env.map(([name, value]) => `${name}=${value}`)]) {
    const bytes = Buffer.byteLength(word) + 1;
    total += bytes + 8;
    if (bytes <= MAX_WORD_BYTES && total <= MAX_ARGV_BYTES) continue;
    throw new SandboxError('invalid', {
      detail: 'argument_list_too_long',
      effect: 'none',
      message: 'the arguments and variables together are more than a sandbox takes',
    });
  }
}
