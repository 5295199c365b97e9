import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SpritesEmulator } from '#libs/emulators';
import type { SandboxHandle } from '#libs/contract';
import { collect, digest } from '../support/collect.js';
import { refusal } from '../support/errors.js';
import { settles, until } from '../support/until.js';
import { SpritesAdapter } from '../../src/adapters/sprites/sprites.adapter.js';
import { SpritesOptions } from '../../src/adapters/sprites/sprites.options.js';

describe('commands in a sprite', () => {
  let emulator: SpritesEmulator;
  let adapter: SpritesAdapter;
  let box: SandboxHandle;

  beforeAll(async () => {
    emulator = await SpritesEmulator.start();
    adapter = new SpritesAdapter(
      new SpritesOptions({ token: emulator.token, baseUrl: emulator.url, retryBaseMs: 10, timeoutMs: 10_000 }),
    );
    box = await adapter.create('box');
  });
  afterAll(() => emulator.close());

  const sh = (script: string, ...args: string[]): [string, string[]] => ['sh', ['-c', script, 'sh', ...args]];

  test('an exec gives output, stderr and exit, byte by byte', async () => {
    const { output, stderr, exitCode } = await adapter.exec(box, ...sh('printf "a\\0"; printf "\\377" >&2; exit 9'));
    expect(Buffer.from(output)).toEqual(Buffer.from('a\0'));
    expect(Buffer.from(stderr ?? [])).toEqual(Buffer.from([0xff]));
    expect(exitCode).toBe(9);
  });

  test('an exec takes one connection', async () => {
    emulator.calls.clear();
    await adapter.exec(box, 'true');
    expect(emulator.calls.all.map(({ method, path, upgrade }) => [method, path, upgrade])).toEqual([
      ['GET', '/v1/sprites/box/exec', true],
    ]);
  });

  test('an exec reads stdin', async () => {
    const data = Buffer.alloc(700_000, 'xyz');
    const { output } = await adapter.exec(box, 'cat', [], { stdin: data });
    expect(Buffer.from(output).equals(data)).toBe(true);
  });

  test('an exec at its deadline is stopped and confirmed', async () => {
    const startedAt = performance.now();
    expect(
      await refusal(adapter.exec(box, ...sh('trap "" TERM; sleep 30 & wait; sleep 30'), { timeoutMs: 2_000 })),
    ).toEqual({
      code: 'unavailable',
      detail: 'timeout',
      effect: 'done',
    });
    expect(performance.now() - startedAt).toBeLessThan(7_500);
    await until('nothing runs', () => emulator.sprite('box')?.pids.length === 0);
  });

  test('a spawn streams and ends with its exit', async () => {
    const command = await adapter.spawn(box, ...sh('echo out; echo err >&2; exit 4'));
    const { stdout, stderr, exit } = await settles('the command', collect(command));
    expect([stdout.toString(), stderr.toString(), exit]).toEqual(['out\n', 'err\n', { exitCode: 4 }]);
  });

  test('a large output is whole, also for a slow reader', async () => {
    const script =
      'i=0; while [ $i -lt 24 ]; do head -c 1000000 /dev/zero | tr "\\\\0" "\\\\$((141 + i % 8))"; i=$((i+1)); done; exit 5';
    const command = await adapter.spawn(box, ...sh(script));
    let bytes = 0;
    const hash = createHash('sha256');
    const exit = await command.forEach(async ({ data, offset }) => {
      expect(offset).toBe(bytes);
      bytes += data.byteLength;
      hash.update(data);
      await new Promise((resolve) => setTimeout(resolve, 1));
    });
    expect(exit).toEqual({ exitCode: 5 });
    expect(bytes).toBe(24_000_000);
    const again = await digest(await adapter.spawn(box, ...sh(script)));
    expect(again).toMatchObject({ exit: { exitCode: 5 }, stdout: { bytes, sha256: hash.digest('hex') } });
  });

  test('an attach replays from zero and from offsets, running and ended', async () => {
    const first = await adapter.spawn(box, ...sh('echo one; read -r x; echo "two $x"; exit 3'), {
      stdin: true,
      detachable: true,
    });
    const id = first.sessionId as string;
    expect(id).toMatch(/^\d+-[0-9a-f]{32}$/);
    await until('one line came', () => first.outputBytes === 4);
    await first.stop();
    const [listed] = await adapter.listSessions(box);
    expect(listed).toMatchObject({ id, tty: false, command: 'sh -c echo one; read -r x; echo "two $x"; exit 3 sh' });
    const second = await adapter.attach(box, id, { stdin: true });
    await until('one line came', () => second.outputBytes === 4);
    await second.writeStdin('more\n');
    const whole = await settles('the command', collect(second));
    expect([whole.stdout.toString(), whole.exit]).toEqual(['one\ntwo more\n', { exitCode: 3 }]);
    expect(await adapter.listSessions(box)).toEqual([]);
    const part = await collect(await adapter.attach(box, id, { from: { stdout: 8 } }));
    expect([part.stdout.toString(), part.exit]).toEqual(['more\n', { exitCode: 3 }]);
    expect(await refusal(adapter.attach(box, id, { from: { stdout: 99 } }))).toMatchObject({
      detail: 'offset_beyond_end',
    });
  });

  test('a session is terminated, and its readers learn how', async () => {
    const command = await adapter.spawn(box, ...sh('echo up; exec sleep 60'), { detachable: true });
    await until('it runs', () => command.outputBytes === 3);
    await adapter.terminateSession(box, command.sessionId as string, { mode: 'force' });
    const { stdout, exit } = await settles('the command', collect(command));
    expect([stdout.toString(), exit]).toEqual(['up\n', { exitCode: 137, signal: 'SIGKILL' }]);
    const gentle = await adapter.spawn(box, ...sh('trap "exit 6" TERM; echo up; while :; do sleep 0.05; done'), {
      detachable: true,
    });
    await until('it runs', () => gentle.outputBytes === 3);
    await adapter.terminateSession(box, gentle.sessionId as string);
    expect(await settles('the exit', collect(gentle))).toMatchObject({ exit: { exitCode: 6 } });
  });

  test('a terminal shows what it is given', async () => {
    const command = await adapter.spawn(
      box,
      ...sh('stty size; tty >/dev/null && echo tty; read -r x; echo "got $x"; exit 2'),
      {
        tty: { cols: 91, rows: 33 },
        stdin: true,
      },
    );
    await until('it reads', () => command.outputBytes >= '33 91\r\ntty\r\n'.length);
    await command.writeStdin('hi\n');
    const { stdout, exit } = await settles('the command', collect(command));
    expect(stdout.toString().replaceAll('\r', '')).toBe('33 91\ntty\nhi\ngot hi\n');
    expect(exit).toEqual({ exitCode: 2 });
  });

  test('a directory that is missing is refused, and a program that is missing is an exit', async () => {
    expect(await refusal(adapter.exec(box, 'true', [], { dir: 'no/such' }))).toEqual({
      code: 'invalid',
      detail: 'no_such_directory',
      effect: 'none',
    });
    expect(await adapter.exec(box, 'no-such')).toMatchObject({ exitCode: 127, startError: 'there is no such program' });
  });

  test('files', async () => {
    await adapter.writeFile(box, 'a/b.txt', 'hello', { mode: 0o640 });
    expect(Buffer.from(await adapter.readFile(box, '/home/sprite/a/b.txt')).toString()).toBe('hello');
    expect(await adapter.statFile(box, '~/a/b.txt')).toMatchObject({ type: 'file', size: 5, mode: 0o640 });
    await adapter.writeFile(box, 'a/b.txt', 'hello2');
    expect(await adapter.listFiles(box, 'a')).toMatchObject([{ name: 'b.txt', size: 6, mode: 0o640 }]);
    expect(await refusal(adapter.readFile(box, 'a/none'))).toMatchObject({ code: 'not_found' });
  });
});
