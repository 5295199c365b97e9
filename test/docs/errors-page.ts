import {
  SANDBOX_ERROR_CODES,
  SANDBOX_ERROR_CODE_TRAITS,
  SANDBOX_ERROR_DETAILS,
  SANDBOX_ERROR_DETAIL_TRAITS,
  type SandboxErrorDetailTraits,
} from '#libs/contract/core';
import { SANDBOX_HTTP_STATUS } from '../../src/index.js';
import { code, table } from './table.js';

/** `docs/ERRORS.md`. */
export function errorsPage(): string {
  return `# Errors

Every rejection of a sandbox operation is a \`SandboxError\`. Its \`code\` says what happened, \`detail\` which case of it,
and \`effect\` whether the remote side acted: \`none\`, it did not; \`done\`, it did although the call failed; \`unknown\`,
nobody can tell, so look before doing it again. Calls that only read have no other effect than \`none\`. Codes and details
are API, messages are for people. Messages name no file: \`path\` does, as the caller named it, escaped where it holds
control characters, and cut at 256 characters.

A process that exits with another code than 0 is a result, not an error.

## Codes

_Transient_ is what \`isTransient\` says: trying again may help. \`withBackoff\` goes by it, but does not repeat an \`exec\`,
a \`spawn\` or the like whose effect is not \`none\`. _Effect_ is the one of an error that says nothing else. _HTTP_ is the
status that \`SandboxExceptionFilter\` answers with, and \`statusOf\` gives.

${table(
  ['code', 'meaning', 'transient', 'effect', 'HTTP'],
  SANDBOX_ERROR_CODES.map((name) => {
    const { meaning, transient, effect } = SANDBOX_ERROR_CODE_TRAITS[name];
    return [code(name), meaning, transient ? 'yes' : 'no', code(effect), String(SANDBOX_HTTP_STATUS[name])];
  }),
)}

## Details

${table(
  ['detail', 'of', 'meaning'],
  SANDBOX_ERROR_DETAILS.map((name) => {
    const { codes, meaning }: SandboxErrorDetailTraits = SANDBOX_ERROR_DETAIL_TRAITS[name];
    return [code(name), codes.length === 0 ? 'any' : codes.map(code).join(', '), meaning];
  }),
)}

What a daemon refuses keeps the detail that it gave.
`;
}
