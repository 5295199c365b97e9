import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import { REPOSITORY, distFile } from '../support/dist.js';

test('a program of test ends well when nobody reads what it prints', async () => {
  const child = spawn(process.execPath, ['tools/conformance.mjs', '--list'], {
    cwd: REPOSITORY,
    env: { ...process.env, SANDBOX_DIST: distFile('.') },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  expect([await once(child, 'close'), errors]).toEqual([[0, null], '']);
});
