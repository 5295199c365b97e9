import { inspect } from 'node:util';
import { expect, test } from '@jest/globals';
import { execResult } from './exec-result.js';

test('carries what was measured and leaves out what was not given', () => {
  const plain = execResult({ output: Buffer.from('hi\n'), exitCode: 0 });
  expect(Object.keys(plain)).toEqual(['exitCode', 'output', 'text']);
  expect(plain.text()).toBe('hi\n');
  const full = execResult({
    output: new Uint8Array(),
    stderr: Buffer.from('no such file'),
    exitCode: 127,
    signal: 'SIGTERM',
    startError: 'ENOENT',
  });
  expect({ ...full, text: full.text() }).toEqual({
    exitCode: 127,
    signal: 'SIGTERM',
    startError: 'ENOENT',
    output: new Uint8Array(),
    stderr: Buffer.from('no such file'),
    text: '',
  });
});

test('text decodes a view of a larger buffer, malformed bytes as U+FFFD', () => {
  const output = Uint8Array.of(1, 0xc3, 0xa9, 0xff, 2).subarray(1, 4);
  expect(execResult({ output, exitCode: 0 }).text()).toBe('é\ufffd');
});

test('inspect shows sizes and no content', () => {
  const result = execResult({ output: Buffer.from('hunter2'), stderr: Buffer.from('hunter3'), exitCode: 1 });
  const shown = inspect({ result }, { depth: 5 });
  expect(shown).not.toMatch(/hunter|68 75 6e/);
  expect(shown).toContain('exitCode: 1, outputBytes: 7, stderrBytes: 7');
});
