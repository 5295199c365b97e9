import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { collect, digest, sha256 } from '../support/collect.js';
import { refusal } from '../support/errors.js';
import { Stage } from './stage.js';

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.set();
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
});

test('bug 15: 20 attaches at any moment of a fast program see both of its streams once and in order', async () => {
  const script = 'seq 1 300000 & seq 1 300000 >&2 & wait; exit 9';
  const numbers = Buffer.from(Array.from({ length: 300_000 }, (_, i) => `${i + 1}\n`).join(''));
  const stream = { bytes: numbers.byteLength, sha256: sha256(numbers) };
  const expected = { exit: { exitCode: 9 }, stdout: stream, stderr: stream };
  const command = await stage.spawnSh(script, { detachable: true });
  const attached: Promise<unknown>[] = [];
  let frames = 0;
  const first = digest({
    forEach: (sink) =>
      command.forEach((frame) => {
        frames += 1;
        if (frames % 2 === 1 && attached.length < 20) {
          attached.push(stage.app.sandboxes.attach(stage.handle, command.sessionId as string).then(digest));
        }
        return sink(frame);
      }),
  });
  expect(await first).toEqual(expected);
  expect(attached).toHaveLength(20);
  expect(await Promise.all(attached)).toEqual(attached.map(() => expected));
});

test('bug 17: a command that is over before anybody reads keeps its output for the reader', async () => {
  const commands = await Promise.all(
    Array.from({ length: 100 }, () => stage.app.sandboxes.spawn(stage.handle, 'echo', ['ok'])),
  );
  await stage.sh('true');
  await nextTurn();
  const seen = await Promise.all(commands.map((command) => collect(command)));
  expect(new Set(seen.map(({ stdout, exit }) => `${stdout.toString()}${exit?.exitCode}`))).toEqual(new Set(['ok\n0']));
});

test('bug 59: the end of the call that started it is not the end of a detachable command', async () => {
  const controller = new AbortController();
  const command = await stage.spawnSh('echo begun; read line; echo "got $line"; exit 5', {
    stdin: true,
    detachable: true,
    signal: controller.signal,
  });
  const id = command.sessionId as string;
  controller.abort();
  await command.stop();
  expect((await stage.app.sandboxes.listSessions(stage.handle)).map((session) => session.id)).toContain(id);
  const again = await stage.app.sandboxes.attach(stage.handle, id, { stdin: true });
  const seen = collect(again);
  await again.writeStdin('it\n');
  expect([(await seen).stdout.toString(), (await seen).exit]).toEqual(['begun\ngot it\n', { exitCode: 5 }]);
});

test('bug 82: an attach to what is no session starts nothing and says so', async () => {
  const attach = (id: string): Promise<unknown> => refusal(stage.app.sandboxes.attach(stage.handle, id));
  expect(await attach('s-0123456789abcdef0123456789abcdef')).toMatchObject({ code: 'not_found', effect: 'none' });
  for (const id of ['', ' ', 'a/b', '../..', 'x'.repeat(257)]) {
    expect([id, await attach(id)]).toEqual([id, { code: 'invalid', detail: 'argument', effect: 'none' }]);
  }
  expect(await stage.app.sandboxes.listSessions(stage.handle)).toEqual([]);
});
