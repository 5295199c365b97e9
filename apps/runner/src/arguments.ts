import { parseArgs } from 'node:util';
import { SETTINGS, TOKEN_VARIABLE, type SettingName } from './settings.js';
import { UsageError } from './usage-error.js';

const BOOLEAN = { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean' } } as const;
const BY_FLAG = new Map(Object.entries(SETTINGS).map(([name, { flag }]) => [flag as string, name as SettingName]));
const SEE_HELP = 'see sandbox-runner --help';
const UNPRINTABLE = /[^\x20-\x7e]/g;

export interface Arguments {
  readonly help: boolean;
  readonly version: boolean;
  readonly values: Partial<Record<SettingName, string>>;
}

/**
 * Reads argv. Messages name flags and never repeat a value: somebody may have put the token there.
 *
 * @throws {UsageError}
 */
export function readArguments(argv: readonly string[]): Arguments {
  const flags = [...BY_FLAG.keys()].map((flag) => [flag, { type: 'string' }] as const);
  const { tokens } = parseArgs({
    args: [...argv],
    options: { ...BOOLEAN, ...Object.fromEntries(flags) },
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const values: Partial<Record<SettingName, string>> = {};
  const asked = new Set<string>();
  for (const token of tokens) {
    if (token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') throw new UsageError(`there are only options, no other arguments; ${SEE_HELP}`);
    const { name, value } = token;
    if (name === 'token') {
      throw new UsageError(
        `there is no --token: every user of this machine can read the arguments of a process; ` +
          `use --token-file, or put the token into the variable ${TOKEN_VARIABLE}`,
      );
    }
    const shown = `${token.rawName.startsWith('--') ? '--' : '-'}${name.replaceAll(UNPRINTABLE, '?')}`;
    const setting = BY_FLAG.get(name);
    if (setting === undefined && !Object.hasOwn(BOOLEAN, name))
      throw new UsageError(`unknown option ${shown}; ${SEE_HELP}`);
    if (setting === undefined) {
      if (value !== undefined) throw new UsageError(`${shown} takes no value`);
      asked.add(name);
    } else {
      // Without a value of its own, the next flag was taken for one.
      if (value === undefined || (!token.inlineValue && value.startsWith('-')))
        throw new UsageError(`${shown} needs a value (${SETTINGS[setting].value})`);
      values[setting] = value;
    }
  }
  return { help: asked.has('help'), version: asked.has('version'), values };
}
