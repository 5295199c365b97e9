import { randomInt } from 'node:crypto';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { collect } from '../support/collect.js';
import { refusal } from '../support/errors.js';
import { allGone } from '../support/processes.js';
import { Stage } from './stage.js';

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.set();
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
});

test('bug 32: a directory that vanishes between check and start is never blamed on the command', async () => {
  const dir = join(stage.home, 'flickering');
  const flickering = new AbortController();
  const flicker = (async () => {
    while (!flickering.signal.aborted) {
      await mkdir(dir, { recursive: true });
      await rm(dir, { recursive: true, force: true });
    }
  })();
  const outcomes = new Set<string>();
  const start = async (): Promise<void> => {
    const outcome = await refusal(stage.sh('exit 3', { dir: 'flickering' }).then(({ exitCode }) => exitCode));
    outcomes.add(JSON.stringify(outcome));
  };
  for (let round = 0; round < 25; round += 1) await Promise.all(Array.from({ length: 8 }, start));
  flickering.abort();
  await flicker;
  const right = ['{"resolved":3}', '{"code":"invalid","detail":"no_such_directory","effect":"none"}'];
  expect([...outcomes].filter((outcome) => !right.includes(outcome))).toEqual([]);
  expect(outcomes).toContain(right[1]);
});

test('bug 33: a program for another machine cannot be executed: 126, one end, and the daemon lives', async () => {
  // An ELF header of a machine that does not exist.
  const header = Buffer.alloc(64);
  header.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1], 0);
  header.writeUInt16LE(2, 16);
  header.writeUInt16LE(0xfffe, 18);
  await writeFile(join(stage.home, 'foreign'), header);
  await chmod(join(stage.home, 'foreign'), 0o755);
  const seen = await collect(await stage.app.sandboxes.spawn(stage.handle, './foreign', []));
  expect(seen.frames).toEqual([{ type: 'exit', exitCode: 126, startError: expect.stringMatching(/./) }]);
  const { exitCode, startError } = await stage.app.sandboxes.exec(stage.handle, './foreign', []);
  expect({ exitCode, startError }).toEqual({ exitCode: 126, startError: expect.stringMatching(/./) });
  expect((await stage.sh('echo next')).text()).toBe('next\n');
});

test('bug 34: a start that is refused leaves no session behind', async () => {
  const bad = { detachable: true } as const;
  const { handle, app } = stage;
  for (const call of [
    () => app.sandboxes.spawn(handle, 'sleep', ['3600', 'a\0b'], bad),
    () => app.sandboxes.spawn(handle, 'sleep', ['3600'], { ...bad, env: { 'A=B': 'c' } }),
    () => app.sandboxes.spawn(handle, 'sleep', ['3600'], { ...bad, env: { 'A B': 'c' } }),
    () => app.sandboxes.spawn(handle, 'sleep', ['3600', 'x'.repeat(200_000)], bad),
  ]) {
    expect(await refusal(call())).toMatchObject({ code: 'invalid', effect: 'none' });
  }
  expect(await app.sandboxes.listSessions(handle)).toEqual([]);
});

test('bug 36: no argument and no value of env is rewritten, whatever path it names', async () => {
  const texts = [
    '/home/sprite',
    '/home/spriteful/x',
    '/home/sprite/../other',
    's#/home/sprite#Q#',
    '{"path":"/home/sprite/a","also":"~/b"}',
    '~/x',
  ];
  const args = await stage.app.sandboxes.exec(stage.handle, 'printf', ['%s\\0', ...texts]);
  expect(args.text().split('\0').slice(0, -1)).toEqual(texts);
  const env = Object.fromEntries(texts.map((text, i) => [`TEXT_${i}`, text]));
  const seen = await stage.app.sandboxes.exec(stage.handle, 'bash', ['-c', 'printf "%s\\0" "${!TEXT_@}"'], { env });
  expect(seen.text().split('\0').slice(0, -1)).toEqual(Object.keys(env));
  const values = await stage.app.sandboxes.exec(stage.handle, 'env', ['-0'], { env });
  for (const [name, text] of Object.entries(env)) expect(values.text().split('\0')).toContain(`${name}=${text}`);
});

test('bug 86: commands that leave orphans behind, by spawn, leave no process of theirs once those have ended', async () => {
  // No other process on this machine sleeps as long.
  const marker = `0${randomInt(1e8, 1e9)}`;
  const runs = Array.from({ length: 50 }, async (_, i) =>
    (await stage.spawnSh(`(sleep 0.0${i % 10}${marker} &) ; (setsid sleep 0.1${marker} &) ; exit ${i % 3}`)).drain(),
  );
  expect((await Promise.all(runs)).map(({ exitCode }) => exitCode)).toEqual(runs.map((_, i) => i % 3));
  await allGone(marker);
});
