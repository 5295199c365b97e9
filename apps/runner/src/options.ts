import { homedir, hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { readArguments } from './arguments.js';
import { LOG_LEVELS, type LogLevel } from './log.js';
import { PARENT_VARIABLE, SETTINGS, TOKEN_VARIABLE, type SettingName } from './settings.js';
import { noToken, tokenFromFile, tokenFromText, type Token } from './token.js';
import { UsageError } from './usage-error.js';

export interface RunnerOptions {
  /** Without a trailing slash, query or credentials. */
  readonly url: string;
  readonly token: string;
  /** Absolute. */
  readonly root: string;
  readonly name: string;
  readonly logLevel: LogLevel;
  /** End when stdin does. */
  readonly exitWithParent: boolean;
  /** To be logged at the start. */
  readonly warnings: readonly string[];
}

export type Invocation = 'help' | 'version' | RunnerOptions;

const MAX_NAME_CHARS = 255;

/**
 * What the program was asked for. Flags beat the environment, that beats the defaults; `''` counts as unset. The
 * token's variable is removed from `env`, so that nothing started later can inherit it.
 *
 * @throws {UsageError}
 */
export function readOptions(argv: readonly string[], env: NodeJS.ProcessEnv): Invocation {
  const secret = env[TOKEN_VARIABLE];
  delete env[TOKEN_VARIABLE];
  const { help, version, values } = readArguments(argv);
  if (help) return 'help';
  if (version) return 'version';
  const given = (name: SettingName): string | undefined => values[name] || env[SETTINGS[name].variable] || undefined;
  const url = baseUrl(given('url'));
  const { value: token, warning } = readToken(values.tokenFile, env[SETTINGS.tokenFile.variable], secret);
  return {
    url,
    token,
    root: resolve(given('root') ?? join(homedir(), '.sandbox-runner')),
    name: checkedName(given('name') ?? hostname()),
    logLevel: logLevel(given('logLevel') ?? 'info'),
    exitWithParent: switchOf(PARENT_VARIABLE, env[PARENT_VARIABLE] || 'false'),
    warnings: warning === undefined ? [] : [warning],
  };
}

function readToken(flag: string | undefined, file: string | undefined, secret: string | undefined): Token {
  if (flag) return tokenFromFile(flag);
  if (file && secret) {
    throw new UsageError(`${SETTINGS.tokenFile.variable} and ${TOKEN_VARIABLE} are both set: set one of them`);
  }
  if (file) return tokenFromFile(file);
  if (secret) return tokenFromText(secret);
  throw noToken();
}

function baseUrl(text: string | undefined): string {
  if (text === undefined) {
    throw new UsageError(`no platform: give --${SETTINGS.url.flag} URL, or set ${SETTINGS.url.variable}`);
  }
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new UsageError('the URL of the platform must be an http:// or https:// URL');
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new UsageError('the URL of the platform must have no credentials, query or fragment');
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}

function checkedName(name: string): string {
  if (name.length > MAX_NAME_CHARS || /\p{Cc}/u.test(name)) {
    throw new UsageError(`the name must have at most ${MAX_NAME_CHARS} characters and no control characters`);
  }
  return name;
}

function logLevel(text: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === text);
  if (level === undefined) throw new UsageError(`the log level must be one of ${LOG_LEVELS.join(', ')}`);
  return level;
}

function switchOf(variable: string, text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new UsageError(`${variable} must be true or false`);
  return text === 'true';
}
