import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newNonce } from '../../src/adapters/common/session-id.js';
import { shimProgram } from '../../src/adapters/common/shim.js';
import { SHELLS, ShimProgram, installed } from '../support/shim-program.js';
import { tempDir } from '../support/temp-dir.js';
import { settles } from '../support/until.js';

describe.each(SHELLS)('a command that is to be the only reader of its stdin under %s', (name, shell) => {
  // oxlint-disable-next-line jest/no-disabled-tests -- not every machine has every shell
  if (!installed(shell)) return test.skip(`${name} is not installed`, () => expect.assertions(0));

  let home: Awaited<ReturnType<typeof tempDir>>;

  beforeAll(async () => {
    home = await tempDir('e2b-shim');
  });
  afterAll(() => home.remove());

  // Node gives children sockets, which nobody can open a second time.
  test('runs all the same where that is no pipe', async () => {
    const nonce = newNonce();
    const command = { nonce, cmd: 'sh', args: ['-c', 'cat; exit 4'], env: [], stdin: true, detachable: true };
    const program = new ShimProgram(shell, home.path, shimProgram({ ...command, soleReader: true }), nonce);
    program.stdin.end('input');
    await settles('the program', program.ended);
    expect(program.stdout.toString()).toBe('input');
    expect(program.words.at(-1)).toBe('x 4 5 0 -');
  });
});
