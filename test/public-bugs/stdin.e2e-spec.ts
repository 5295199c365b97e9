import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { collect, sha256 } from '../support/collect.js';
import { refusal } from '../support/errors.js';
import { residentBytes } from '../support/processes.js';
import { settles } from '../support/until.js';
import { Stage } from './stage.js';

const MiB = 1024 * 1024;

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.set();
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
});

test.each([
  ['that ends at once', 'true', { exitCode: 0 }],
  ['that could not be started', './absent', { exitCode: 127, startError: expect.stringMatching(/./) }],
])('bug 19: 50 writes of 1 MB to a command %s settle, and the daemon lives', async (_, program, expected) => {
  const command = await stage.app.sandboxes.spawn(stage.handle, program, [], { stdin: true });
  const data = randomBytes(MiB);
  const writes = Array.from({ length: 50 }, () => refusal(command.writeStdin(data)));
  expect(await command.drain()).toEqual(expected);
  const outcomes = (await settles('the writes', Promise.all(writes))) as { code?: string; resolved?: unknown }[];
  expect([...new Set(outcomes.map(({ code }) => code))].filter((code) => code !== 'write_failed')).toEqual([
    'command_exited',
  ]);
  expect((await stage.sh('echo alive')).text()).toBe('alive\n');
  expect(stage.daemon.ended).toBeUndefined();
});

test('bug 19: a command that has shut its stdin ends with its own code after writes that failed', async () => {
  const script = 'exec 0<&-; echo shut; until [ -e told ]; do sleep 0.02; done; exit 7';
  const command = await stage.spawnSh(script, { stdin: true });
  const end = command.forEach(async () => {
    expect(await refusal(command.writeStdin(randomBytes(MiB)))).toMatchObject({ code: 'write_failed' });
    await stage.app.sandboxes.writeFile(stage.handle, 'told', '');
  });
  expect(await end).toEqual({ exitCode: 7 });
});

test('bug 22: 300 MB for a process that never reads wait here, not in the daemon, and settle with the end', async () => {
  const command = await stage.app.sandboxes.spawn(stage.handle, 'sleep', ['3600'], { stdin: true });
  const exit = command.drain();
  await stage.sh('true');
  const before = await residentBytes(stage.daemon.pid);
  const data = randomBytes(MiB);
  const writes = Array.from({ length: 300 }, () => refusal(command.writeStdin(data)));
  expect((await settles('an exec beside them', stage.sh('echo free'), 3_000)).text()).toBe('free\n');
  expect((await residentBytes(stage.daemon.pid)) - before).toBeLessThan(32 * MiB);
  await stage.app.sandboxes.destroy(stage.handle);
  expect(await exit).toEqual({ exitCode: 143, signal: 'SIGTERM' });
  const outcomes = await settles('the writes', Promise.all(writes));
  expect(outcomes.filter((outcome) => (outcome as { code?: string }).code !== 'command_exited')).toEqual([]);
  await stage.app.sandboxes.create('runner', stage.handle.name);
});

test('bug 61: without EOF a filter waits, with it it ends; a second EOF is no error, data after it is', async () => {
  for (const [program, input, output] of [
    ['cat', '', ''],
    ['wc', 'a b\n', '      1       2       4\n'],
    ['sort', 'b\na\n', 'a\nb\n'],
  ] as const) {
    const command = await stage.app.sandboxes.spawn(stage.handle, program, [], { stdin: true });
    const seen = collect(command);
    if (input !== '') await command.writeStdin(input);
    await Promise.all([command.closeStdin(), command.closeStdin()]);
    const after = await refusal(command.writeStdin('late'));
    expect(['stdin_closed', undefined]).toContain((after as { detail?: string }).detail);
    expect(['invalid', 'command_exited']).toContain((after as { code?: string }).code);
    expect([(await seen).stdout.toString(), (await seen).exit]).toEqual([output, { exitCode: 0 }]);
    await command.closeStdin();
  }
});

test('bug 20: small and large writes and EOF that nobody waits for arrive in their order, by two sessions at once', async () => {
  const pieces = Array.from({ length: 200 }, (_, i) => (i % 40 === 20 ? `${i}:${'x'.repeat(512 * 1024)}\n` : `${i}\n`));
  const expected = sha256(Buffer.from(pieces.join('')));
  const digests = [1, 2].map(async () => {
    const command = await stage.app.sandboxes.spawn(stage.handle, 'cat', [], { stdin: true });
    const seen = collect(command);
    await Promise.all([...pieces.map((piece) => command.writeStdin(piece)), command.closeStdin()]);
    return sha256((await seen).stdout);
  });
  expect(await Promise.all(digests)).toEqual([expected, expected]);
});
