import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { SandboxFrame, SandboxHandle } from '#libs/contract';
import { runnerSandboxName } from '../src/runner/index.js';
import { collect, digest, sha256 } from './support/collect.js';
import { refusal, words } from './support/errors.js';
import { FieldDaemon } from './support/field-daemon.js';
import { alphabet, type FieldSession } from './support/field-session.js';
import { gate } from './support/gate.js';
import { TestApp } from './support/nest-app.js';
import { RUNNER_ID, RUNNER_TOKEN } from './support/runners.js';
import { settles, until } from './support/until.js';

const MiB = 1024 * 1024;

let app: TestApp;
let daemon: FieldDaemon;
let handle: SandboxHandle;

beforeAll(async () => {
  app = await TestApp.start();
});

afterAll(async () => {
  await app?.close();
});

beforeEach(async () => {
  daemon = await FieldDaemon.connect({ url: app.url, token: RUNNER_TOKEN, name: 'field' });
  await app.online(RUNNER_ID);
  handle = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
});

afterEach(async () => {
  await daemon.close();
  await app.offline(RUNNER_ID);
});

function session(id: string | undefined): FieldSession {
  const found = daemon.sessions.get(id ?? '');
  if (!found) throw new Error('the field daemon knows no such session');
  return found;
}

/** What came on stdout, and how it ended. */
async function outcome(command: Parameters<typeof collect>[0]): Promise<unknown[]> {
  const seen = await settles('the command', collect(command));
  return [seen.stdout.toString(), seen.exit ?? words(seen.error)];
}

describe('a daemon of another make', () => {
  test('serves a sandbox from its creation to its end', async () => {
    expect((await app.sandboxes.get(handle)).status).toBe('running');
    expect(await app.sandboxes.listAllNames('runner')).toEqual([handle.name]);
    await app.sandboxes.suspend(handle);
    expect((await app.sandboxes.get(handle)).status).toBe('suspended');
    await app.sandboxes.resume(handle);
    await app.sandboxes.writeFile(handle, 'a/b', Buffer.of(0, 255));
    expect(daemon.sandboxes.get(handle.name)?.files.get('a/b')).toEqual(Buffer.of(0, 255));
    expect(await app.sandboxes.hostPath(handle, '/home/sprite/x')).toBe(`/srv/${handle.name}/x`);
    await app.sandboxes.destroy(handle);
    expect(await refusal(app.sandboxes.get(handle))).toMatchObject({ code: 'not_found', effect: 'none' });
  });

  test('gets a spawn of both streams and a code through, 200 times at once', async () => {
    const runs = Array.from({ length: 200 }, async (_, i) => {
      const command = await app.sandboxes.spawn(handle, `out:first ${i};`, [
        `err:wrong ${i}`,
        `out:second ${i}`,
        `exit:${i}`,
      ]);
      const seen = await collect(command);
      return [seen.stdout.toString(), seen.stderr.toString(), seen.exit?.exitCode, seen.frames.at(-1)?.type];
    });
    expect(await Promise.all(runs)).toEqual(
      Array.from({ length: 200 }, (_, i) => [`first ${i};second ${i}`, `wrong ${i}`, i, 'exit']),
    );
  });

  test('gets output with consecutive offsets, though it sends none', async () => {
    const seen = await collect(await app.sandboxes.spawn(handle, 'out:abc', ['out:de', 'err:xy', 'out:f', 'err:z']));
    const offsets = { stdout: 0, stderr: 0 };
    for (const frame of seen.frames) {
      if (frame.type === 'exit') continue;
      expect(frame.offset).toBe(offsets[frame.type]);
      offsets[frame.type] += frame.data.byteLength;
    }
    expect(offsets).toEqual({ stdout: 6, stderr: 3 });
  });

  test('gets stdin in the order of the calls, though it runs each request in a task of its own', async () => {
    const command = await app.sandboxes.spawn(handle, 'stay', [], { stdin: true });
    const pieces = Array.from({ length: 200 }, (_, i) => `<${i}>`);
    const calls = [...pieces.map((piece) => command.writeStdin(piece)), command.closeStdin()];
    const seen = collect(command);
    await Promise.all(calls);
    expect([(await seen).stdout.toString().replaceAll('echo:', ''), (await seen).exit]).toEqual([
      pieces.join(''),
      { exitCode: 0 },
    ]);
    expect(await refusal(command.writeStdin('late'))).toMatchObject({
      code: expect.stringMatching(/command_exited|invalid/),
    });
    await command.closeStdin();
  });

  test('that answers id 0, repeats a reply and adds members is not misunderstood', async () => {
    daemon.send({ id: 0, ok: true, result: {} });
    daemon.send({ id: 0, ok: false, error: 'not_found', detail: 'nothing' });
    daemon.send({ id: 1, ok: true, result: { again: true } });
    daemon.send({ color: 'blue', id: 0, ok: true });
    expect(await outcome(await app.sandboxes.spawn(handle, 'out:fine', []))).toEqual(['fine', { exitCode: 0 }]);
    expect(daemon.online).toBe(true);
  });
});

describe('exec', () => {
  test.each([
    ['out:hello', 'exit:0', 'hello', 0],
    ['out:partly', 'exit:3', 'partly', 3],
    ['err:unheard', 'exit:137', '', 137],
  ])('%s %s', async (cmd, arg, output, exitCode) => {
    const result = await app.sandboxes.exec(handle, cmd, [arg]);
    expect([result.text(), result.exitCode, result.signal, result.stderr]).toEqual([
      output,
      exitCode,
      undefined,
      undefined,
    ]);
  });

  test('code 137 after the timeout is a timeout, not a result; before it, it is a result', async () => {
    expect(await refusal(app.sandboxes.exec(handle, 'hold', [], { timeoutMs: 150 }))).toEqual({
      code: 'unavailable',
      detail: 'timeout',
      effect: 'unknown',
    });
    const early = await app.sandboxes.exec(handle, 'exit:137', [], { timeoutMs: 60_000 });
    expect(early.exitCode).toBe(137);
  });

  test('with stdin goes over a session', async () => {
    const result = await app.sandboxes.exec(handle, 'stay', [], { stdin: 'typed' });
    expect([result.text(), result.exitCode]).toEqual(['echo:typed', 0]);
  });
});

describe('attach', () => {
  test('replays all from byte zero, tagged for the one that asked, then goes on live', async () => {
    const first = await app.sandboxes.spawn(handle, 'out:one ', ['err:bad', 'hold', 'out:two', 'exit:4'], {
      detachable: true,
    });
    const seen = collect(first);
    await until('the field session has an owner', () => session(first.sessionId).attached);
    const second = await app.sandboxes.attach(handle, first.sessionId as string);
    const late = collect(second);
    session(first.sessionId).release();
    const [one, two] = await Promise.all([seen, late]);
    for (const end of [one, two]) {
      expect([end.stdout.toString(), end.stderr.toString(), end.exit]).toEqual(['one two', 'bad', { exitCode: 4 }]);
    }
  });

  test.each([
    [{ stdout: 0, stderr: 0 }, 'abcdefgh', 'XYZ'],
    [{ stdout: 3 }, 'defgh', 'XYZ'],
    [{ stdout: 6, stderr: 2 }, 'gh', 'Z'],
    [{ stdout: 8, stderr: 3 }, '', ''],
  ])('from %j', async (from, stdout, stderr) => {
    const command = await app.sandboxes.spawn(handle, 'out:abcd', ['err:XYZ', 'out:efgh', 'exit:2'], {
      detachable: true,
    });
    expect(await command.drain()).toEqual({ exitCode: 2 });
    const seen = await collect(await app.sandboxes.attach(handle, command.sessionId as string, { from }));
    expect([seen.stdout.toString(), seen.stderr.toString(), seen.exit]).toEqual([stdout, stderr, { exitCode: 2 }]);
    const offsets = seen.frames.flatMap((frame) => (frame.type === 'stdout' ? [frame.offset] : []));
    expect(offsets[0] ?? from.stdout).toBe(from.stdout ?? 0);
  });

  test('a live frame between reply and replay comes once to each subscriber', async () => {
    const command = await app.sandboxes.spawn(handle, 'out:begin,', ['hold', 'out:end', 'exit:0'], {
      detachable: true,
    });
    const seen = [collect(command)];
    await until('the field session has an owner', () => session(command.sessionId).attached);
    for (let i = 0; i < 5; i += 1) {
      daemon.beforeReplay = async (attached) => {
        await attached.print('stdout', `between ${i},`);
        await attached.print('stderr', `${i}`);
      };
      seen.push(collect(await app.sandboxes.attach(handle, command.sessionId as string)));
    }
    daemon.beforeReplay = undefined;
    session(command.sessionId).release();
    const expected = ['begin,between 0,between 1,between 2,between 3,between 4,end', '01234', { exitCode: 0 }];
    for (const end of await settles('all subscribers', Promise.all(seen))) {
      expect([end.stdout.toString(), end.stderr.toString(), end.exit]).toEqual(expected);
    }
  });

  test('an exit between reply and replay ends each subscriber once, with everything', async () => {
    const command = await app.sandboxes.spawn(handle, 'out:begin', ['hold'], { detachable: true });
    const first = collect(command);
    await until('the field session has an owner', () => session(command.sessionId).attached);
    daemon.beforeReplay = async (attached) => {
      await attached.print('stdout', ' last words');
      await attached.end(9);
    };
    const second = collect(await app.sandboxes.attach(handle, command.sessionId as string));
    for (const end of await settles('both', Promise.all([first, second]))) {
      expect([end.stdout.toString(), end.exit]).toEqual(['begin last words', { exitCode: 9 }]);
      expect(end.frames.filter((frame) => frame.type === 'exit')).toHaveLength(1);
    }
  });

  test('20 attaches at random moments of a fast stream: every one sees all bytes once', async () => {
    const size = 3 * MiB;
    const command = await app.sandboxes.spawn(handle, 'hold', [`flood:${size}`, 'exit:1'], { detachable: true });
    const seen = [digest(command)];
    await until('the field session has an owner', () => session(command.sessionId).attached);
    session(command.sessionId).release();
    for (let i = 0; i < 20; i += 1) seen.push(digest(await app.sandboxes.attach(handle, command.sessionId as string)));
    const expected = { bytes: size, sha256: sha256(alphabet(0, size)) };
    for (const end of await settles('all subscribers', Promise.all(seen), 40_000)) {
      expect([end.stdout, end.exit]).toEqual([expected, { exitCode: 1 }]);
    }
  });

  test('after one has gone, the others go on; after the last, the daemon is told, and one that comes later replays', async () => {
    const command = await app.sandboxes.spawn(handle, 'out:a', ['hold', 'out:b', 'exit:0'], { detachable: true });
    const id = command.sessionId as string;
    await until('the field session has an owner', () => session(id).attached);
    const other = await app.sandboxes.attach(handle, id);
    await command.stop();
    expect(session(id).attached).toBe(true);
    const iterator = other[Symbol.asyncIterator]();
    expect(Buffer.from(((await iterator.next()).value as SandboxFrame & { data: Uint8Array }).data).toString()).toBe(
      'a',
    );
    await other.stop();
    await until('the field session has no owner', () => !session(id).attached);
    expect((await app.sandboxes.listSessions(handle)).map((listed) => listed.id)).toEqual([id]);
    const last = await app.sandboxes.attach(handle, id);
    session(id).release();
    expect(await outcome(last)).toEqual(['ab', { exitCode: 0 }]);
    expect((await app.sandboxes.listSessions(handle)).map((listed) => listed.id)).toEqual([]);
  });

  test('dates come as dates', async () => {
    const command = await app.sandboxes.spawn(handle, 'hold', [], { detachable: true });
    const [listed] = await app.sandboxes.listSessions(handle);
    const started = session(command.sessionId).createdAt;
    expect(listed).toEqual({
      id: command.sessionId,
      command: 'hold',
      createdAt: started,
      lastActivityAt: started,
      tty: false,
    });
    await command.stop();
  });

  test('after a broken link every byte is there, once', async () => {
    const command = await app.sandboxes.spawn(handle, 'out:before ', ['hold', 'out:after', 'exit:6'], {
      detachable: true,
    });
    const cut = collect(command);
    await until('the field session has an owner', () => session(command.sessionId).attached);
    await daemon.reconnect();
    expect(words((await cut).error)).toMatchObject({ code: 'unavailable', detail: 'runner_disconnected' });
    expect((await cut).exit).toBeUndefined();
    await app.host.saw('presence online', app.host.count('presence offline') + 1);
    session(command.sessionId).release();
    const again = await app.sandboxes.attach(handle, command.sessionId as string);
    expect(await outcome(again)).toEqual(['before after', { exitCode: 6 }]);
  });

  test('after five broken links in a row each attach has the whole history once', async () => {
    const command = await app.sandboxes.spawn(handle, 'out:0', ['hold', 'exit:6'], { detachable: true });
    const id = command.sessionId as string;
    let history = '0';
    for (const round of [1, 2, 3, 4, 5]) {
      const joined = collect(await app.sandboxes.attach(handle, id));
      await session(id).print('stdout', `${round}`);
      history += round;
      await until('the attach was replayed', () => session(id).attached);
      await app.sandboxes.get(handle);
      const announced = app.host.count('presence online');
      await daemon.reconnect();
      const cut = await joined;
      expect([cut.stdout.toString(), cut.exit, words(cut.error)]).toEqual([
        history,
        undefined,
        expect.objectContaining({ code: 'unavailable', detail: 'runner_disconnected' }),
      ]);
      await app.host.saw('presence online', announced + 1);
    }
    const last = await app.sandboxes.attach(handle, id);
    session(id).release();
    expect(await outcome(last)).toEqual([history, { exitCode: 6 }]);
  });
});

describe('a slow reader', () => {
  const size = 12 * MiB;
  const whole = { bytes: size, sha256: sha256(alphabet(0, size)) };

  test('that comes back in time loses nothing, and the daemon blocks meanwhile', async () => {
    const command = await app.sandboxes.spawn(handle, `flood:${size}`, ['exit:3'], { detachable: true });
    const wake = gate();
    let stalled = false;
    const seen = digest({
      forEach: (sink) =>
        command.forEach(async (frame) => {
          if (!stalled) {
            stalled = true;
            await wake.opened;
          }
          await sink(frame);
        }),
    });
    await until('bytes wait at the daemon, because the platform does not read', () => daemon.queuedBytes > 0);
    wake.open();
    expect(await settles('the slow reader', seen)).toMatchObject({ stdout: whole, exit: { exitCode: 3 } });
  });

  test('that does not come back ends with slow_consumer; the daemon stays, and a second attach has it all', async () => {
    const command = await app.sandboxes.spawn(handle, `flood:${size}`, ['exit:3'], { detachable: true });
    const never = gate();
    const stuck = refusal(command.forEach(() => never.opened));
    const queued = await until('bytes wait at the daemon', () => daemon.queuedBytes);
    expect(queued).toBeGreaterThan(0);
    await until('the platform reads again', () => daemon.queuedBytes === 0, { withinMs: 15_000 });
    never.open();
    expect(await settles('the stuck reader', stuck)).toMatchObject({ code: 'unavailable', detail: 'slow_consumer' });
    expect([daemon.online, daemon.unanswered]).toEqual([true, 0]);
    const again = await digest(await app.sandboxes.attach(handle, command.sessionId as string));
    expect(again).toMatchObject({ stdout: whole, exit: { exitCode: 3 } });
  });

  test('does not make its neighbour slow or incomplete', async () => {
    const command = await app.sandboxes.spawn(handle, 'hold', [`flood:${size}`, 'exit:3'], { detachable: true });
    await until('the field session has an owner', () => session(command.sessionId).attached);
    const other = digest(await app.sandboxes.attach(handle, command.sessionId as string));
    const never = gate();
    const stuck = refusal(command.forEach(() => never.opened));
    session(command.sessionId).release();
    expect(await settles('the neighbour', other)).toMatchObject({ stdout: whole, exit: { exitCode: 3 } });
    never.open();
    await stuck;
  });
});
