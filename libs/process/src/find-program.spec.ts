import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram } from './find-program.js';

let base: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'program-'));
  for (const folder of ['a', 'b', 'c/tool']) mkdirSync(join(base, folder), { recursive: true });
  writeFileSync(join(base, 'a/tool'), '');
  writeFileSync(join(base, 'b/tool'), '#!/bin/sh\n', { mode: 0o755 });
});

afterEach(() => rmSync(base, { recursive: true }));

const find = (cmd: string, ...path: string[]) =>
  findProgram(cmd, base, path.map((entry) => entry && join(base, entry)).join(':'));

test('the first that can be executed wins', () => {
  expect(find('tool', 'none', 'a', 'c', 'b')).toEqual({ path: join(base, 'b/tool') });
});

test('one that cannot is named when there is no other', () => {
  expect(find('tool', 'a', 'c')).toEqual({ failed: { exitCode: 126, startError: 'tool: permission denied' } });
  expect(find('tool', 'c')).toEqual({ failed: { exitCode: 126, startError: 'tool: is a directory' } });
});

test('an empty entry of PATH is the working directory', () => {
  writeFileSync(join(base, 'here'), '', { mode: 0o755 });
  expect(find('here', 'a', '')).toEqual({ path: join(base, 'here') });
});

test('a path is not looked for on PATH', () => {
  expect(find('b/tool', 'a')).toEqual({ path: join(base, 'b/tool') });
  expect(find('./tool', 'b')).toEqual({ failed: { exitCode: 127, startError: './tool: not found' } });
});

test('a name of any length gives a short message', () => {
  const result = find('x'.repeat(100_000), 'a');
  expect('failed' in result && result.failed.startError).toHaveLength(
    256 + '…: cannot be executed (ENAMETOOLONG)'.length,
  );
});
