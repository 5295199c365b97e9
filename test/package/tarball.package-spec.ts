import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { REPOSITORY } from '../support/dist.js';
import { runProgram, succeed } from './program.js';
import { tarball } from './tarball.js';

describe('the tarball', () => {
  test('holds what was built for others and nothing else', async () => {
    const listed = await succeed('tar', ['-tzf', tarball()]);
    const paths = listed
      .trim()
      .split('\n')
      .map((path) => path.replace(/^package\//, ''));
    const manifest = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as {
      exports: Readonly<Record<string, string | { types: string; default: string }>>;
      bin: Readonly<Record<string, string>>;
    };
    const promised = [
      ...Object.values(manifest.exports).flatMap((entry) =>
        typeof entry === 'string' ? [entry] : Object.values(entry),
      ),
      ...Object.values(manifest.bin),
      'LICENSE',
      'README.md',
    ].map((path) => path.replace(/^\.\//, ''));
    expect(promised.filter((path) => !paths.includes(path))).toEqual([]);
    const fitting =
      /^(?:package\.json|LICENSE|README\.md|dist\/(?:src|libs|apps\/runner)\/.*(?<!\.spec)(?:\.js|\.d\.ts))$/;
    expect(paths.filter((path) => !fitting.test(path))).toEqual([]);
  });

  test.each([
    ['publint', ['run', tarball(), '--strict']],
    ['attw', [tarball(), '--profile', 'esm-only', '--no-emoji', '--no-color']],
  ])('%s finds no fault', async (program, args) => {
    const bin = join(REPOSITORY, 'node_modules/.bin', program);
    const { code, stdout, stderr } = await runProgram(bin, args, { cwd: REPOSITORY });
    expect({ code, printed: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, printed: '' });
  });
});
