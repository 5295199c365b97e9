import { describe, expect, test } from '@jest/globals';
import { isRunnerId, parseRunnerSandboxName, runnerSandboxName } from './names.js';

const ID = '0123abcd-4567-89ef-0123-456789abcdef';

describe('runner sandbox names', () => {
  test('carry the runner id and 4 random bytes', () => {
    const name = runnerSandboxName(ID);
    expect(name).toMatch(/^runner-0123abcd456789ef0123456789abcdef-[0-9a-f]{8}$/);
    expect(runnerSandboxName(ID)).not.toBe(name);
  });

  test('give the id back in lower case', () => {
    expect(parseRunnerSandboxName(runnerSandboxName(ID.toUpperCase()))).toBe(ID);
  });

  test.each(['', 'nope', ID.replaceAll('-', ''), `${ID} `, `${ID}0`, 'g123abcd-4567-89ef-0123-456789abcdef'])(
    'are not minted for %p',
    (id) => {
      expect(isRunnerId(id)).toBe(false);
      expect(() => runnerSandboxName(id)).toThrow(expect.objectContaining({ code: 'invalid', effect: 'none' }));
    },
  );

  test.each([
    '',
    'sprite-1',
    `runner-${ID}-00000000`,
    'runner-0123abcd456789ef0123456789abcdef-0000000',
    'runner-0123abcd456789ef0123456789abcdef-000000000',
    'runner-0123ABCD456789ef0123456789abcdef-00000000',
    'runner-0123abcd456789ef0123456789abcdef-00000000\n',
    ' runner-0123abcd456789ef0123456789abcdef-00000000',
    '../runner-0123abcd456789ef0123456789abcdef-00000000',
    '__proto__',
  ])('are not read out of %p', (name) => {
    expect(() => parseRunnerSandboxName(name)).toThrow(
      expect.objectContaining({ code: 'invalid', detail: 'not_a_runner_sandbox_name', effect: 'none' }),
    );
  });

  test.each([undefined, null, 7, {}])('are not read out of %p', (name) => {
    expect(() => parseRunnerSandboxName(name as string)).toThrow(
      expect.objectContaining({ detail: 'not_a_runner_sandbox_name' }),
    );
  });
});
