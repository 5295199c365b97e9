import { readFileSync, statSync } from 'node:fs';
import { TOKEN_VARIABLE, SETTINGS } from './settings.js';
import { UsageError } from './usage-error.js';

const MAX_TOKEN_BYTES = 4_096;
const TOKEN = /^[\x21-\x7e]+$/;

export interface Token {
  readonly value: string;
  /** What its owner should hear about how it is kept. */
  readonly warning?: string;
}

/** @throws {UsageError} */
export function tokenFromFile(path: string): Token {
  let text: string;
  let mode: number;
  try {
    const { mode: bits, size } = statSync(path);
    if (size > MAX_TOKEN_BYTES) throw new UsageError(`the token file ${path} is larger than a token can be`);
    text = readFileSync(path, 'utf8');
    mode = bits & 0o777;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`cannot read the token file ${path}: ${(error as NodeJS.ErrnoException).code ?? 'failed'}`);
  }
  const value = checked(text, `the token file ${path}`);
  if ((mode & 0o077) === 0) return { value };
  return { value, warning: `others may read the token file ${path} (mode 0${mode.toString(8)}): chmod 600 it` };
}

/** @throws {UsageError} */
export function tokenFromText(text: string): Token {
  return { value: checked(text, TOKEN_VARIABLE) };
}

export function noToken(): UsageError {
  return new UsageError(
    `no token: give --${SETTINGS.tokenFile.flag} FILE, or set ${SETTINGS.tokenFile.variable} or ${TOKEN_VARIABLE}`,
  );
}

function checked(text: string, where: string): string {
  const token = text.trim();
  if (token === '') throw new UsageError(`${where} is empty`);
  if (!TOKEN.test(token)) throw new UsageError(`${where} holds something else than one token of printable ASCII`);
  return token;
}
