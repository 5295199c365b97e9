import { describe, expect, test } from '@jest/globals';
import {
  checkFlag,
  checkFrom,
  checkGraceMs,
  checkMaxOutputBytes,
  checkMode,
  checkNetworkPolicy,
  checkNonEmptyText,
  checkPort,
  checkSessionId,
  checkSignal,
  checkTerminalSize,
  checkText,
  checkTimeoutMs,
  MAX_TIMEOUT_MS,
} from './checks.js';
import { checkCommand, checkEnv, checkPath } from './process-checks.js';

const env = (text: string): unknown => JSON.parse(text);
const longId = 'a'.repeat(256);

const accepted: [string, (value: never) => unknown, unknown, unknown?][] = [
  ['checkText', (v) => checkText('cmd', v), ''],
  ['checkText', (v) => checkText('cmd', v), 'naïve 💡\n'],
  ['checkPath', (v) => checkPath('path', v), '/tmp/a b'],
  ['checkTimeoutMs', checkTimeoutMs, 1],
  ['checkTimeoutMs', checkTimeoutMs, MAX_TIMEOUT_MS],
  ['checkGraceMs', checkGraceMs, 30_000],
  ['checkMode', checkMode, 0],
  ['checkMode', checkMode, 0o777],
  ['checkMaxOutputBytes', checkMaxOutputBytes, 1],
  ['checkPort', checkPort, 65_535],
  ['checkSessionId', checkSessionId, 'aZ09_-'],
  ['checkSessionId', checkSessionId, longId],
  ['checkTerminalSize', (v) => checkTerminalSize('tty', v), { cols: 80, rows: 24 }],
  ['checkNetworkPolicy', checkNetworkPolicy, { allow: [] }],
  ['checkNetworkPolicy', checkNetworkPolicy, { allow: ['example.com', '*.a.b'] }],
  ['checkFrom', checkFrom, undefined, { stdout: 0, stderr: 0 }],
  ['checkFrom', checkFrom, { stderr: 7 }, { stdout: 0, stderr: 7 }],
  ['checkFrom', checkFrom, 'now'],
  ['checkFlag', (v) => checkFlag('tty', v), undefined, false],
  ['checkFlag', (v) => checkFlag('tty', v), true],
  ['checkSignal', checkSignal, undefined],
  ['checkSignal', checkSignal, AbortSignal.abort()],
  ['checkEnv', checkEnv, undefined, []],
  [
    'checkEnv',
    checkEnv,
    { A: '1', 'b-c': '' },
    [
      ['A', '1'],
      ['b-c', ''],
    ],
  ],
  [
    'checkEnv',
    checkEnv,
    env('{"__proto__":"x","constructor":"y"}'),
    [
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ],
  ],
  ['checkEnv', checkEnv, Object.create({ inherited: 'no' }), []],
];

test.each(accepted)('%s accepts %#: %p', (_, check, value, expected = value) => {
  expect(check(value as never)).toEqual(expected);
});

const refused: [string, (value: never) => unknown, unknown, string][] = [
  ['checkText', (v) => checkText('args[1]', v), 5, 'args[1]: expected a string, got 5'],
  ['checkText', (v) => checkText('args[1]', v), null, 'args[1]: expected a string, got null'],
  ['checkText', (v) => checkText('args[1]', v), 'hunter2\0', 'args[1]: must not contain a NUL byte'],
  [
    'checkText',
    (v) => checkText('dir', v),
    'hunter2\ud800',
    'dir: contains a lone surrogate, which UTF-8 cannot carry',
  ],
  ['checkNonEmptyText', (v) => checkNonEmptyText('name', v), '', 'name: must not be empty'],
  ['checkPath', (v) => checkPath('path', v), 'hunter2\0', 'path: must not contain a NUL byte'],
  ['checkTimeoutMs', checkTimeoutMs, 0, 'timeoutMs: expected an integer from 1 to 2147483647, got 0'],
  ['checkTimeoutMs', checkTimeoutMs, -1, 'timeoutMs: expected an integer from 1 to 2147483647, got -1'],
  ['checkTimeoutMs', checkTimeoutMs, 1.5, 'timeoutMs: expected an integer from 1 to 2147483647, got 1.5'],
  ['checkTimeoutMs', checkTimeoutMs, NaN, 'timeoutMs: expected an integer from 1 to 2147483647, got NaN'],
  ['checkTimeoutMs', checkTimeoutMs, Infinity, 'timeoutMs: expected an integer from 1 to 2147483647, got Infinity'],
  ['checkTimeoutMs', checkTimeoutMs, 2 ** 31, 'timeoutMs: expected an integer from 1 to 2147483647, got 2147483648'],
  ['checkTimeoutMs', checkTimeoutMs, '5', 'timeoutMs: expected an integer from 1 to 2147483647, got a string'],
  ['checkGraceMs', checkGraceMs, 30_001, 'timeoutMs: expected an integer from 1 to 30000, got 30001'],
  ['checkMode', checkMode, '0755', 'mode: expected an integer from 0 to 0o777, got a string'],
  ['checkMode', checkMode, 0o1000, 'mode: expected an integer from 0 to 0o777, got 512'],
  ['checkMode', checkMode, 0o4755, 'mode: expected an integer from 0 to 0o777, got 2541'],
  ['checkMode', checkMode, -1, 'mode: expected an integer from 0 to 0o777, got -1'],
  ['checkMode', checkMode, 1n, 'mode: expected an integer from 0 to 0o777, got a bigint'],
  ['checkPort', checkPort, 0, 'port: expected an integer from 1 to 65535, got 0'],
  ['checkPort', checkPort, undefined, 'port: expected an integer from 1 to 65535, got nothing'],
  ['checkSessionId', checkSessionId, '', 'sessionId: expected 1 to 256 characters of A-Z, a-z, 0-9, _ and -'],
  ['checkSessionId', checkSessionId, `${longId}a`, 'sessionId: expected 1 to 256 characters of A-Z, a-z, 0-9, _ and -'],
  ['checkSessionId', checkSessionId, '../a', 'sessionId: expected 1 to 256 characters of A-Z, a-z, 0-9, _ and -'],
  ['checkSessionId', checkSessionId, 'a\n', 'sessionId: expected 1 to 256 characters of A-Z, a-z, 0-9, _ and -'],
  [
    'checkTerminalSize',
    (v) => checkTerminalSize('tty', v),
    { cols: 80 },
    'tty.rows: expected an integer from 1 to 65535, got nothing',
  ],
  ['checkTerminalSize', (v) => checkTerminalSize('tty', v), [80, 24], 'tty: expected an object, got an array'],
  ['checkNetworkPolicy', checkNetworkPolicy, null, 'policy: expected an object, got null'],
  ['checkNetworkPolicy', checkNetworkPolicy, {}, 'policy.allow: expected an array of hosts, got nothing'],
  [
    'checkNetworkPolicy',
    checkNetworkPolicy,
    { allow: 'a.b' },
    'policy.allow: expected an array of hosts, got a string',
  ],
  ['checkNetworkPolicy', checkNetworkPolicy, { allow: ['a', ''] }, 'policy.allow[1]: must not be empty'],
  [
    'checkNetworkPolicy',
    checkNetworkPolicy,
    { allow: Array.from({ length: 1 }) },
    'policy.allow[0]: expected a string, got nothing',
  ],
  ['checkFrom', checkFrom, { stdout: -1 }, 'from.stdout: expected an integer from 0 to 9007199254740991, got -1'],
  ['checkFrom', checkFrom, 'later', 'from: expected an object, got a string'],
  ['checkFlag', (v) => checkFlag('stdin', v), 'true', 'stdin: expected true or false, got a string'],
  ['checkSignal', checkSignal, { aborted: 'no' }, 'signal: expected an AbortSignal, got an object'],
  ['checkEnv', checkEnv, [['A', 'hunter2']], 'env: expected an object, got an array'],
  ['checkEnv', checkEnv, 'A=hunter2', 'env: expected an object, got a string'],
  ['checkEnv', checkEnv, { '': 'hunter2' }, 'env: a name must not be empty'],
  ['checkEnv', checkEnv, { 'A=hunter2': '1' }, 'env: a name must not contain "="'],
  ['checkEnv', checkEnv, { 'A\0hunter2': '1' }, 'env: a name: must not contain a NUL byte'],
  ['checkEnv', checkEnv, { A: 'hunter2\0' }, 'env.A: must not contain a NUL byte'],
  [
    'checkEnv',
    checkEnv,
    { 'A-hunter2': '\udc00' },
    'env: a value: contains a lone surrogate, which UTF-8 cannot carry',
  ],
  ['checkEnv', checkEnv, { 'A hunter2': '1' }, 'env: a name must not contain a space'],
  ['checkEnv', checkEnv, { A: 5 }, 'env.A: expected a string, got 5'],
  ['checkEnv', checkEnv, { A: undefined }, 'env.A: expected a string, got nothing'],
];

test.each(refused)('%s refuses %#: %p', (_, check, value, message) => {
  expect(() => check(value as never)).toThrow(
    expect.objectContaining({ code: 'invalid', detail: 'argument', effect: 'none', message }),
  );
  expect(message).not.toContain('hunter2');
});

describe('checkCommand', () => {
  test('gives a copy of the arguments, none when there are none', () => {
    const args = ['-c', 'exit'];
    const checked = checkCommand('sh', args);
    args.push('later');
    expect(checked).toEqual({ cmd: 'sh', args: ['-c', 'exit'] });
    expect(checkCommand('true', undefined)).toEqual({ cmd: 'true', args: [] });
  });

  test.each([
    ['', [], 'cmd: must not be empty'],
    [undefined, [], 'cmd: expected a string, got nothing'],
    ['a\0', [], 'cmd: must not contain a NUL byte'],
    ['sh', '-c', 'args: expected an array of strings, got a string'],
    ['sh', null, 'args: expected an array of strings, got null'],
    ['sh', ['a', 5], 'args[1]: expected a string, got 5'],
    ['sh', Array.from({ length: 2 }), 'args[0]: expected a string, got nothing'],
    ['sh', ['\ud83d'], 'args[0]: contains a lone surrogate, which UTF-8 cannot carry'],
  ])('refuses %p %p', (cmd, args, message) => {
    expect(() => checkCommand(cmd, args)).toThrow(
      expect.objectContaining({ code: 'invalid', effect: 'none', message }),
    );
  });
});
