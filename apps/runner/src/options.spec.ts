import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { helpText } from './help.js';
import { readOptions, type RunnerOptions } from './options.js';
import { SETTINGS } from './settings.js';

const URL_FLAG = ['--url', 'http://127.0.0.1:3000'];
const TOKEN = { SANDBOX_RUNNER_TOKEN: 'secret-1' };

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'runner-options-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

function file(name: string, content: string, mode = 0o600): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

function run(argv: string[], env: NodeJS.ProcessEnv = { ...TOKEN }): RunnerOptions {
  const read = readOptions(argv, env);
  if (typeof read === 'string') throw new Error(`expected options, got ${read}`);
  return read;
}

describe('readOptions', () => {
  test('fills in defaults', () => {
    expect(run(URL_FLAG)).toEqual({
      url: 'http://127.0.0.1:3000',
      token: 'secret-1',
      root: join(homedir(), '.sandbox-runner'),
      name: hostname(),
      logLevel: 'info',
      exitWithParent: false,
      warnings: [],
    });
  });

  test('takes everything from the environment', () => {
    const env = {
      SANDBOX_RUNNER_URL: 'https://platform.example/base/',
      SANDBOX_RUNNER_TOKEN_FILE: file('env-token', 'from-file\n'),
      SANDBOX_RUNNER_ROOT: '/srv/root',
      SANDBOX_RUNNER_NAME: 'builder',
      SANDBOX_RUNNER_LOG_LEVEL: 'debug',
      SANDBOX_RUNNER_EXIT_WITH_PARENT: 'true',
    };
    expect(run([], env)).toEqual({
      url: 'https://platform.example/base',
      token: 'from-file',
      root: '/srv/root',
      name: 'builder',
      logLevel: 'debug',
      exitWithParent: true,
      warnings: [],
    });
  });

  test('a flag beats the environment, and an empty one counts as unset', () => {
    const env = { ...TOKEN, SANDBOX_RUNNER_NAME: 'env', SANDBOX_RUNNER_ROOT: '', SANDBOX_RUNNER_LOG_LEVEL: 'warn' };
    const options = run([...URL_FLAG, '--name=flag', '--log-level', ''], env);
    expect(options).toMatchObject({ name: 'flag', root: join(homedir(), '.sandbox-runner'), logLevel: 'warn' });
  });

  test('a token file given as a flag beats a token in the environment', () => {
    expect(run([...URL_FLAG, '--token-file', file('flag-token', 'of-the-flag')]).token).toBe('of-the-flag');
  });

  test('removes the token from the environment, even when the arguments are wrong', () => {
    const env: NodeJS.ProcessEnv = { ...TOKEN, OTHER: 'kept' };
    expect(() => readOptions(['--nonsense'], env)).toThrow('unknown option --nonsense');
    expect(env).toEqual({ OTHER: 'kept' });
  });

  test('trims the token', () => {
    expect(run([...URL_FLAG, '--token-file', file('padded', '  tok-1 \r\n')]).token).toBe('tok-1');
  });

  test('warns about a token file that others can read', () => {
    const path = file('open', 'tok', 0o644);
    expect(run([...URL_FLAG, '--token-file', path]).warnings).toEqual([
      `others may read the token file ${path} (mode 0644): chmod 600 it`,
    ]);
  });

  test('makes the root absolute', () => {
    expect(run([...URL_FLAG, '--root', 'relative/dir']).root).toBe(join(process.cwd(), 'relative/dir'));
  });

  test.each([
    [['--help'], 'help'],
    [['-h'], 'help'],
    [['--version'], 'version'],
    [['--version', '--help'], 'help'],
  ])('%p needs nothing else', (argv, expected) => {
    expect(readOptions(argv, {})).toBe(expected);
  });

  test.each<[title: string, argv: string[], env: NodeJS.ProcessEnv, message: string]>([
    ['no URL', [], TOKEN, 'no platform: give --url URL, or set SANDBOX_RUNNER_URL'],
    ['a URL that is none', ['--url', 'nowhere'], TOKEN, 'the URL of the platform must be an http:// or https:// URL'],
    ['ws', ['--url', 'ws://h'], TOKEN, 'the URL of the platform must be an http:// or https:// URL'],
    ['file', ['--url', 'file:///x'], TOKEN, 'the URL of the platform must be an http:// or https:// URL'],
    [
      'a token in the query',
      ['--url', 'http://h/?token=s3cret'],
      TOKEN,
      'the URL of the platform must have no credentials, query or fragment',
    ],
    [
      'a password in the URL',
      ['--url', 'http://u:s3cret@h/'],
      TOKEN,
      'the URL of the platform must have no credentials, query or fragment',
    ],
    [
      'no token',
      URL_FLAG,
      { SANDBOX_RUNNER_TOKEN: '' },
      'no token: give --token-file FILE, or set SANDBOX_RUNNER_TOKEN_FILE or SANDBOX_RUNNER_TOKEN',
    ],
    [
      'two tokens',
      URL_FLAG,
      { ...TOKEN, SANDBOX_RUNNER_TOKEN_FILE: '/x' },
      'SANDBOX_RUNNER_TOKEN_FILE and SANDBOX_RUNNER_TOKEN are both set: set one of them',
    ],
    [
      'a token of two words',
      URL_FLAG,
      { SANDBOX_RUNNER_TOKEN: 's3cret two' },
      'SANDBOX_RUNNER_TOKEN holds something else than one token of printable ASCII',
    ],
    ['a blank token', URL_FLAG, { SANDBOX_RUNNER_TOKEN: ' \n' }, 'SANDBOX_RUNNER_TOKEN is empty'],
    [
      'a missing token file',
      [...URL_FLAG, '--token-file', '/nowhere/token'],
      {},
      'cannot read the token file /nowhere/token: ENOENT',
    ],
    ['a flag without value', ['--url'], TOKEN, '--url needs a value (URL)'],
    ['a flag before a flag', ['--url', '--name', 'x'], TOKEN, '--url needs a value (URL)'],
    ['a value for a switch', ['--help=s3cret'], TOKEN, '--help takes no value'],
    ['an unknown flag', ['--secret=s3cret'], TOKEN, 'unknown option --secret; see sandbox-runner --help'],
    ['a short unknown flag', ['-x'], TOKEN, 'unknown option -x; see sandbox-runner --help'],
    ['a name of Object', ['--constructor'], TOKEN, 'unknown option --constructor; see sandbox-runner --help'],
    ['a positional', ['s3cret'], TOKEN, 'there are only options, no other arguments; see sandbox-runner --help'],
    [
      'a name with a newline',
      [...URL_FLAG, '--name', 'a\nb'],
      TOKEN,
      'the name must have at most 255 characters and no control characters',
    ],
    [
      'a log level',
      [...URL_FLAG, '--log-level', 'loud'],
      TOKEN,
      'the log level must be one of error, warn, info, debug',
    ],
  ])('refuses %s', (_title, argv, env, message) => {
    const read = (): unknown => readOptions(argv, { ...env });
    expect(read).toThrow(message);
    expect(read).not.toThrow('s3cret');
  });

  test.each([[['--token', 's3cret']], [['--token=s3cret']]])('says why there is no --token: %#', (argv) => {
    const read = (): unknown => readOptions(argv, {});
    expect(read).toThrow('every user of this machine can read the arguments of a process; use --token-file');
    expect(read).not.toThrow('s3cret');
  });

  test('an oversized token file is refused unread', () => {
    const path = file('large', 'x'.repeat(5_000));
    expect(() => run([...URL_FLAG, '--token-file', path])).toThrow(
      `the token file ${path} is larger than a token can be`,
    );
  });
});

describe('helpText', () => {
  test.each(Object.values(SETTINGS))('names --$flag and its variable $variable', ({ flag, variable }) => {
    expect(helpText('1.2.3')).toContain(`--${flag} `);
    expect(helpText('1.2.3')).toContain(variable);
  });

  test('fits a terminal', () => {
    expect(
      Math.max(
        ...helpText('1.2.3')
          .split('\n')
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(84);
  });
});
