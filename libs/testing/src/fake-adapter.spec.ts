import { getEventListeners } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import {
  SANDBOX_CAPABILITIES,
  SandboxError,
  withBackoff,
  type SandboxCapability,
  type SandboxCommand,
  type SandboxErrorCode,
  type SandboxHandle,
} from '#libs/contract';
import { systemClock } from '#libs/protocol';
import { FAKE_CAPABILITIES, FakeAdapter, type FakeAdapterOptions } from './fake-adapter.js';
import type { FakeProgram } from './fake-program.js';
import { ManualClock } from './manual-clock.js';

async function box(options: FakeAdapterOptions = {}) {
  const fake = new FakeAdapter(options);
  return { fake, handle: await fake.create('box') };
}

/** What a command printed, and how it ended. */
async function record(command: SandboxCommand) {
  const printed = { stdout: '', stderr: '' };
  const offsets: number[] = [];
  const exit = await command.forEach(({ type, data, offset }) => {
    printed[type] += Buffer.from(data).toString();
    offsets.push(offset);
  });
  return { ...printed, exit, offsets };
}

async function refusal(promise: Promise<unknown>) {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof SandboxError)) throw new Error('expected a SandboxError', { cause: error });
  const { code, detail, effect } = error;
  return { code, ...(detail && { detail }), effect };
}

const turns = async (count = 5) => {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
};

const isPending = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([promise.then(() => false), turns(1).then(() => true)]);

async function* endless(): AsyncGenerator<string> {
  yield 'begun';
  await new Promise(() => {});
}

describe('the words of a command', () => {
  test.each([
    [['out:a'], { stdout: 'a', stderr: '', exit: { exitCode: 0 } }],
    [['out:a', 'err:b', 'out:c', 'exit:3'], { stdout: 'ac', stderr: 'b', exit: { exitCode: 3 } }],
    [['out:a', 'exit:255', 'out:b'], { stdout: 'a', stderr: '', exit: { exitCode: 255 } }],
    [['out:', 'err:x:y'], { stdout: '', stderr: 'x:y', exit: { exitCode: 0 } }],
    [['out:é€\n'], { stdout: 'é€\n', stderr: '', exit: { exitCode: 0 } }],
    [['sh', 'out:named', 'exit:4'], { stdout: 'named', stderr: '', exit: { exitCode: 4 } }],
  ])('%j', async ([cmd = '', ...args], expected) => {
    const { fake, handle } = await box();
    expect(await record(await fake.spawn(handle, cmd, args))).toMatchObject(expected);
    const { output, stderr, ...exit } = await fake.exec(handle, cmd, args);
    expect(Buffer.from(output).toString()).toBe(expected.stdout);
    expect(Buffer.from(stderr ?? []).toString()).toBe(expected.stderr);
    expect(exit).toMatchObject(expected.exit);
  });

  test.each([
    [['unknown']],
    [['out:a', 'oops:b']],
    [['exit:256']],
    [['exit:']],
    [['exit:-1']],
    [['exit:1e1']],
    [['sh', '-c', 'out:a']],
    [['stay:1']],
  ])('%j is no command: exit 127 with a start error, and nothing runs', async ([cmd = '', ...args]) => {
    const { fake, handle } = await box();
    const { stdout, exit } = await record(await fake.spawn(handle, cmd, args));
    expect(stdout).toBe('');
    expect(exit).toEqual({ exitCode: 127, startError: expect.stringMatching(/^word \d is no instruction/) });
  });

  test('a script translates real commands', async () => {
    const calls: unknown[] = [];
    const script = (...call: [cmd: string, args: readonly string[]]) => {
      calls.push(call);
      return ['out:main\n'];
    };
    const { fake, handle } = await box({ script });
    expect((await fake.exec(handle, 'git', ['branch', '--show-current'])).text()).toBe('main\n');
    expect(calls).toEqual([['git', ['branch', '--show-current']]]);
  });

  test('stay echoes stdin and goes on at its end', async () => {
    const { fake, handle } = await box();
    const command = await fake.spawn(handle, 'stay', ['out:bye', 'exit:9'], { stdin: true });
    await command.writeStdin('one');
    await command.writeStdin('two');
    await command.closeStdin();
    expect(await record(command)).toMatchObject({
      stdout: 'echo:oneecho:twobye',
      exit: { exitCode: 9 },
      offsets: [0, 8, 16],
    });
  });

  test('drop ends the stream with no exit, for those who join later too', async () => {
    const { fake, handle } = await box();
    const command = await fake.spawn(handle, 'out:a', ['drop', 'out:b']);
    const seen: string[] = [];
    const reading = command.forEach(({ data }) => void seen.push(Buffer.from(data).toString()));
    const expected = { code: 'unavailable', detail: 'closed_before_exit', effect: 'unknown' };
    expect(await refusal(reading)).toEqual(expected);
    expect(seen).toEqual(['a']);
    expect(await refusal(command.exit)).toEqual(expected);
    expect(await refusal((await fake.attach(handle, command.sessionId ?? '')).drain())).toEqual(expected);
    expect(await refusal(fake.exec(handle, 'drop'))).toEqual(expected);
  });
});

describe('stdin', () => {
  test.each<[string, (command: SandboxCommand) => Promise<unknown>, object]>([
    ['a write behind the close', (c) => c.closeStdin().then(() => c.writeStdin('x')), { detail: 'stdin_closed' }],
    ['a write after the exit', (c) => c.closeStdin().then(() => c.exit).then(() => c.writeStdin('x')), { code: 'command_exited' }], // prettier-ignore
  ])('%s is refused', async (_, act, expected) => {
    const { fake, handle } = await box();
    const command = await fake.spawn(handle, 'stay', ['stay'], { stdin: true });
    expect(await refusal(act(command))).toMatchObject({ ...expected, effect: 'none' });
  });

  test('a write waits while the pipe is full, and dies with the command', async () => {
    const { fake, handle } = await box({ limits: { pipeBytes: 4, windowBytes: 4 } });
    // Nobody reads what it echoes, so it reads no further.
    const command = await fake.spawn(handle, 'stay', [], { stdin: true });
    const written: number[] = [];
    const writes: Promise<number>[] = [];
    for (const n of [1, 2, 3, 4]) {
      writes.push(command.writeStdin('abcd').then(() => written.push(n)));
      // Those that wait together are written together.
      await turns();
    }
    expect(written).toEqual([1, 2, 3]);
    await fake.terminateSession(handle, command.sessionId ?? '');
    expect(await refusal(writes[3] as Promise<number>)).toEqual({ code: 'command_exited', effect: 'unknown' });
    await command.closeStdin();
    expect(await record(command)).toMatchObject({ exit: { exitCode: 143, signal: 'SIGTERM' } });
  });

  test('may be given a buffer that is used again', async () => {
    const { fake, handle } = await box({ onSuspend: 'freeze' });
    const command = await fake.spawn(handle, 'stay', [], { stdin: true });
    await fake.suspend(handle);
    const data = Buffer.from('abc');
    await command.writeStdin(data);
    data.fill('x');
    await command.closeStdin();
    await fake.resume(handle);
    expect(await record(command)).toMatchObject({ stdout: 'echo:abc' });
  });

  test('belongs to the newest attach with stdin', async () => {
    const { fake, handle } = await box();
    const first = await fake.spawn(handle, 'stay', [], { stdin: true, detachable: true });
    const watcher = await fake.attach(handle, first.sessionId ?? '');
    const second = await fake.attach(handle, first.sessionId ?? '', { stdin: true });
    expect(await refusal(first.writeStdin('x'))).toEqual({ code: 'invalid', detail: 'stdin_not_open', effect: 'none' });
    expect(await refusal(watcher.writeStdin('x'))).toMatchObject({ detail: 'stdin_not_open' });
    await second.writeStdin('mine');
    await second.closeStdin();
    for (const command of [first, watcher, second]) {
      expect(await record(command)).toMatchObject({ stdout: 'echo:mine', exit: { exitCode: 0 } });
    }
  });
});

describe('exec', () => {
  test('feeds stdin and ends it', async () => {
    const { fake, handle } = await box();
    async function* pieces() {
      yield 'a';
      yield Buffer.from([0xff, 0]);
    }
    const { output } = await fake.exec(handle, 'stay', [], { stdin: pieces() });
    expect(Buffer.from(output)).toEqual(Buffer.concat([Buffer.from('echo:aecho:'), Buffer.from([0xff, 0])]));
  });

  test('puts both streams into one in their order', async () => {
    const { fake, handle } = await box();
    const result = await fake.exec(handle, 'out:1', ['err:2', 'out:3'], { stderrToStdout: true });
    expect([result.text(), result.stderr]).toEqual(['123', undefined]);
  });

  test('is stopped at its deadline, on the clock that was given', async () => {
    const clock = new ManualClock();
    const { fake, handle } = await box({ clock });
    const running = fake.exec(handle, 'stay', [], { timeoutMs: 5_000 });
    await turns();
    clock.advance(4_999);
    await turns();
    expect(clock.pending).toBe(1);
    clock.advance(1);
    expect(await refusal(running)).toEqual({ code: 'unavailable', detail: 'timeout', effect: 'done' });
    expect(clock.pending).toBe(0);
  });

  test('that ends in time leaves no timer', async () => {
    const clock = new ManualClock();
    const { fake, handle } = await box({ clock });
    await fake.exec(handle, 'out:a', [], { timeoutMs: 5_000 });
    expect(clock.pending).toBe(0);
  });

  test('is stopped at its output limit, and may reach it', async () => {
    const { fake, handle } = await box();
    const words = ['out:1234', 'err:5678', 'stay'];
    expect(await refusal(fake.exec(handle, 'sh', words, { maxOutputBytes: 7 }))).toEqual({
      code: 'truncated',
      detail: 'output_limit',
      effect: 'done',
    });
    expect((await fake.exec(handle, 'sh', words.slice(0, 2), { maxOutputBytes: 8 })).exitCode).toBe(0);
  });

  test('is stopped by its signal', async () => {
    const { fake, handle } = await box();
    const abort = new AbortController();
    const running = fake.exec(handle, 'stay', [], { signal: abort.signal });
    await turns();
    abort.abort(new Error('enough'));
    await expect(running).rejects.toMatchObject({ code: 'aborted', effect: 'done', cause: new Error('enough') });
  });

  test('in a directory that is not there runs nothing', async () => {
    const { fake, handle } = await box();
    const refused = await refusal(fake.exec(handle, 'out:a', [], { dir: '/srv/app' }));
    expect(refused).toEqual({ code: 'invalid', detail: 'no_such_directory', effect: 'none' });
    await fake.writeFile(handle, '/srv/app/a', '');
    expect((await fake.exec(handle, 'out:a', [], { dir: '/srv/app' })).text()).toBe('a');
  });
});

describe('sessions', () => {
  test('that are detachable live on, are listed while they run, and are replayed from any byte', async () => {
    const { fake, handle } = await box();
    const command = await fake.spawn(handle, 'out:abc', ['err:xyz', 'stay'], { stdin: true, detachable: true });
    const id = command.sessionId ?? '';
    await command.writeStdin('1');
    await command.stop();
    expect(await refusal(command.exit)).toMatchObject({ code: 'unavailable', detail: 'detached' });
    await fake.spawn(handle, 'stay');
    expect(await fake.listSessions(handle)).toMatchObject([{ id, command: 'out:abc err:xyz stay', tty: false }]);

    const whole = await fake.attach(handle, id, { stdin: true });
    const part = await fake.attach(handle, id, { from: { stdout: 2, stderr: 1 } });
    const rest = await fake.attach(handle, id, { from: 'now' });
    await whole.writeStdin('2');
    await whole.closeStdin();
    expect(await record(whole)).toMatchObject({ stdout: 'abcecho:1echo:2', stderr: 'xyz' });
    expect(await record(part)).toMatchObject({ stdout: 'cecho:1echo:2', stderr: 'yz', offsets: [2, 1, 3, 9] });
    expect(await record(rest)).toMatchObject({ stdout: 'echo:2', stderr: '', offsets: [9] });

    expect(await fake.listSessions(handle)).toEqual([]);
    const finished = await fake.attach(handle, id, { from: { stdout: 15, stderr: 2 } });
    expect(await record(finished)).toMatchObject({ stdout: '', stderr: 'z', exit: { exitCode: 0 } });
    expect(await record(await fake.attach(handle, id, { from: 'now' }))).toMatchObject({ exit: { exitCode: 0 } });
  });

  test('that are not are stopped with their last reader', async () => {
    const { fake, handle } = await box();
    const command = await fake.spawn(handle, 'out:a', ['stay']);
    const other = await fake.attach(handle, command.sessionId ?? '');
    await command.stop();
    await turns();
    expect(await isPending(other.exit)).toBe(true);
    const late = await fake.attach(handle, command.sessionId ?? '');
    await other.stop();
    await late.stop();
    const finished = await fake.attach(handle, command.sessionId ?? '');
    expect(await record(finished)).toMatchObject({ stdout: 'a', exit: { exitCode: 143, signal: 'SIGTERM' } });
  });

  test('are found only in their sandbox, and from bytes that exist', async () => {
    const { fake, handle } = await box({ limits: { journalBytes: 8, frameBytes: 4 } });
    const other = await fake.create('other');
    const { sessionId: id = '', exit } = await fake.spawn(handle, 'out:aaaabbbb', []);
    await exit;
    expect(await refusal(fake.attach(other, id))).toEqual({ code: 'not_found', effect: 'none' });
    expect(await refusal(fake.attach(handle, id, { from: { stdout: 9 } }))).toMatchObject({
      code: 'invalid',
      detail: 'offset_beyond_end',
    });
    const long = await fake.spawn(handle, 'out:aaaabbbbcccc', [], { detachable: true });
    await long.drain();
    expect(await refusal(fake.attach(handle, long.sessionId ?? ''))).toMatchObject({
      code: 'truncated',
      detail: 'replay_evicted',
    });
    expect(await record(await fake.attach(handle, long.sessionId ?? '', { from: { stdout: 4 } }))).toMatchObject({
      stdout: 'bbbbcccc',
    });
  });

  test('are kept up to a number once they have finished', async () => {
    const { fake, handle } = await box({ limits: { finishedSessions: 2 } });
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) {
      const { sessionId = '', exit } = await fake.spawn(handle, `out:${i}`);
      await exit;
      ids.push(sessionId);
    }
    expect(ids).toEqual(['s-1', 's-2', 's-3']);
    expect(await refusal(fake.attach(handle, 's-1'))).toMatchObject({ code: 'not_found' });
    expect(await record(await fake.attach(handle, 's-2'))).toMatchObject({ stdout: '1' });
  });

  /** A command that writes five pieces, two of which are a window, and which of them it has written. */
  async function pieces(limits: FakeAdapterOptions['limits']) {
    const written: string[] = [];
    const tool: FakeProgram = async ({ write }) => {
      for (const piece of ['aaaa', 'bbbb', 'cccc', 'dddd', 'eeee']) {
        await write('stdout', piece);
        written.push(piece);
      }
      return 0;
    };
    const { fake, handle } = await box({ programs: { tool }, limits: { windowBytes: 8, frameBytes: 4, ...limits } });
    const command = await fake.spawn(handle, 'tool');
    await turns();
    return { fake, handle, command, written };
  }

  test('wait while their reader is a window behind, and lose nothing', async () => {
    const { command, written } = await pieces({});
    expect(written).toEqual(['aaaa', 'bbbb']);
    expect(await record(command)).toMatchObject({ stdout: 'aaaabbbbccccddddeeee', exit: { exitCode: 0 } });
  });

  test('go on for one reader while another stands still, who loses nothing', async () => {
    const { fake, handle, command, written } = await pieces({});
    const reading = record(await fake.attach(handle, command.sessionId ?? ''));
    expect(await reading).toMatchObject({ stdout: 'aaaabbbbccccddddeeee', exit: { exitCode: 0 } });
    expect(written).toHaveLength(5);
    expect(await isPending(command.exit)).toBe(true);
    expect(await record(command)).toMatchObject({ stdout: 'aaaabbbbccccddddeeee', exit: { exitCode: 0 } });
  });

  test('wait for the slowest reader where the journal would give up what it has not read', async () => {
    const { fake, handle, command, written } = await pieces({ journalBytes: 8 });
    const reading = record(await fake.attach(handle, command.sessionId ?? ''));
    await turns();
    // Two were delivered to both, and two more wait for one.
    expect([await isPending(reading), written.length]).toEqual([true, 4]);
    expect(await record(command)).toMatchObject({ stdout: 'aaaabbbbccccddddeeee', exit: { exitCode: 0 } });
    expect(await reading).toMatchObject({ stdout: 'aaaabbbbccccddddeeee' });
  });

  test('are terminated for good, by force if asked', async () => {
    const { fake, handle } = await box();
    const ended = async (mode: 'graceful' | 'force') => {
      const { sessionId = '', exit } = await fake.spawn(handle, 'stay', [], { detachable: true });
      await fake.terminateSession(handle, sessionId, { mode });
      return exit;
    };
    expect(await ended('graceful')).toEqual({ exitCode: 143, signal: 'SIGTERM' });
    expect(await ended('force')).toEqual({ exitCode: 137, signal: 'SIGKILL' });
    await fake.terminateSession(handle, 'never-was');
    const lost = await fake.spawn(handle, 'drop');
    await refusal(lost.exit);
    expect(await refusal(fake.terminateSession(handle, lost.sessionId ?? ''))).toEqual({
      code: 'unavailable',
      detail: 'session_lost',
      effect: 'unknown',
    });
  });
});

describe('sandboxes', () => {
  test('are adopted by create and not by createNew', async () => {
    const { fake, handle } = await box();
    expect(await fake.create('box')).toEqual(handle);
    expect(await refusal(fake.createNew('box'))).toEqual({ code: 'already_exists', effect: 'none' });
    expect(await fake.createNew('new')).toEqual({ provider: 'fake', name: 'new', instanceId: 'i-2' });
    expect(await fake.listAllNames()).toEqual(['box', 'new']);
  });

  test('are another incarnation after a destroy', async () => {
    const fake = new FakeAdapter();
    const old = await fake.createNew('box');
    await fake.destroy(old);
    await fake.destroy(old);
    expect(await refusal(fake.get(old))).toEqual({ code: 'not_found', effect: 'none' });
    const current = await fake.createNew('box');
    for (const call of [
      fake.get(old),
      fake.exec(old, 'out:a'),
      fake.spawn(old, 'out:a'),
      fake.writeFile(old, 'a', ''),
      fake.suspend(old),
      fake.attach(old, 's-1'),
      fake.terminateSession(old, 's-1'),
      fake.applyNetworkPolicy(old, { allow: [] }),
    ]) {
      expect(await refusal(call)).toEqual({ code: 'not_found', effect: 'none' });
    }
    await fake.destroy(old);
    expect(await fake.get(current)).toEqual({
      status: 'running',
      raw: { name: 'box', instanceId: 'i-2', status: 'running' },
    });
  });

  test('take their sessions with them, whose end was seen', async () => {
    const { fake, handle } = await box();
    const command = await fake.spawn(handle, 'out:a', ['stay'], { detachable: true });
    const reading = record(command);
    await turns();
    await fake.destroy(handle);
    expect(await reading).toMatchObject({ stdout: 'a', exit: { exitCode: 143, signal: 'SIGTERM' } });
    const again = await fake.create('box');
    expect(await refusal(fake.attach(again, command.sessionId ?? ''))).toMatchObject({ code: 'not_found' });
  });

  test('keep files and stop commands over a suspend, and wake for the next command', async () => {
    const { fake, handle } = await box();
    await fake.writeFile(handle, 'a', 'kept');
    const command = await fake.spawn(handle, 'stay', [], { detachable: true });
    const exec = fake.exec(handle, 'stay');
    await turns();
    await fake.suspend(handle);
    expect(await command.exit).toEqual({ exitCode: 143, signal: 'SIGTERM' });
    expect(await exec).toMatchObject({ exitCode: 143, signal: 'SIGTERM' });
    expect(await fake.get(handle)).toMatchObject({ status: 'suspended' });
    expect(await fake.resume(handle)).toEqual(handle);
    await fake.suspend(handle);
    await fake.exec(handle, 'out:a');
    expect(await fake.get(handle)).toMatchObject({ status: 'running' });
    expect(fake.file('box', '~/a')?.toString()).toBe('kept');
  });

  test('let commands stand still while they are suspended, where that was asked for', async () => {
    const { fake, handle } = await box({ onSuspend: 'freeze' });
    const command = await fake.spawn(handle, 'stay', [], { stdin: true });
    const reading = record(command);
    await fake.suspend(handle);
    await command.writeStdin('a');
    await command.closeStdin();
    await turns();
    expect(await isPending(reading)).toBe(true);
    expect(await fake.get(handle)).toMatchObject({ status: 'suspended' });
    await fake.resume(handle);
    expect(await reading).toMatchObject({ stdout: 'echo:a', exit: { exitCode: 0 } });
    expect(fake.onSuspend).toBe('freeze');
  });
});

describe('files', () => {
  test('are exact, with parents and their mode', async () => {
    const clock = new ManualClock();
    const { fake, handle } = await box({ clock });
    clock.advance(1_000);
    const data = Buffer.from([0, 255, 10]);
    await fake.writeFile(handle, '/srv/deep/a.bin', data, { mode: 0o755 });
    data[0] = 7;
    expect(await fake.readFile(handle, '/srv/deep/a.bin')).toEqual(Buffer.from([0, 255, 10]));
    await fake.writeFile(handle, '/srv/deep/a.bin', 'new');
    expect(await fake.statFile(handle, '/srv/deep/../deep/a.bin')).toEqual({
      type: 'file',
      size: 3,
      mode: 0o755,
      modifiedAt: new Date(1_000),
    });
    await fake.writeFile(handle, '/srv/deep/b/c', '');
    const entries = await fake.listFiles(handle, '/srv/deep');
    expect(entries.map(({ name, type, mode }) => [name, type, mode])).toEqual([
      ['a.bin', 'file', 0o755],
      ['b', 'directory', 0o755],
    ]);
  });

  test.each<[string, SandboxErrorCode, (fake: FakeAdapter, handle: SandboxHandle) => Promise<unknown>]>([
    ['read what is not there', 'not_found', (f, h) => f.readFile(h, 'none')],
    ['read a directory', 'invalid', (f, h) => f.readFile(h, '/tmp')],
    ['list what is not there', 'not_found', (f, h) => f.listFiles(h, 'none')],
    ['list a file', 'invalid', (f, h) => f.listFiles(h, 'a')],
    ['stat what is not there', 'not_found', (f, h) => f.statFile(h, 'none')],
    ['write a directory', 'write_failed', (f, h) => f.writeFile(h, '/tmp', '')],
    ['write below a file', 'write_failed', (f, h) => f.writeFile(h, 'a/b', '')],
  ])('%s: %s', async (_, code, act) => {
    const { fake, handle } = await box();
    await fake.writeFile(handle, 'a', 'content');
    expect(await refusal(act(fake, handle))).toMatchObject({ code, effect: 'none' });
    expect(fake.file('box', 'a')?.toString()).toBe('content');
  });

  test('whose source fails or hangs are not written', async () => {
    const { fake, handle } = await box();
    async function* failing() {
      yield 'part';
      throw new Error('source');
    }
    const failed = fake.writeFile(handle, 'a', failing());
    await expect(failed).rejects.toMatchObject({ code: 'invalid', effect: 'none', cause: new Error('source') });
    const abort = new AbortController();
    async function* hanging() {
      yield 'part';
      await new Promise(() => {});
    }
    const hung = fake.writeFile(handle, 'a', hanging(), { signal: abort.signal });
    await turns();
    expect(getEventListeners(abort.signal, 'abort')).toHaveLength(1);
    abort.abort();
    expect(await refusal(hung)).toEqual({ code: 'aborted', effect: 'none' });
    expect(fake.file('box', 'a')).toBeUndefined();
    expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
  });

  test('of an aborted write are asked for no more, and let go of', async () => {
    const { fake, handle } = await box();
    const abort = new AbortController();
    let asked = 0;
    const released = new Promise<void>((resolve) => {
      async function* more() {
        try {
          for (;;) {
            asked += 1;
            if (asked === 3) abort.abort();
            yield 'more';
          }
        } finally {
          resolve();
        }
      }
      fake.writeFile(handle, 'a', more(), { signal: abort.signal }).catch(() => {});
    });
    await released;
    expect(asked).toBe(3);
    expect(fake.file('box', 'a')).toBeUndefined();
  });

  test('whose sandbox goes while their content comes in are not written', async () => {
    const { fake, handle } = await box();
    async function* content() {
      await fake.destroy(handle);
      yield 'late';
    }
    expect(await refusal(fake.writeFile(handle, 'a', content()))).toEqual({ code: 'not_found', effect: 'none' });
    expect(await fake.listAllNames()).toEqual([]);
  });
});

describe('what a test arranges', () => {
  test('policies and urls are there to be asserted', async () => {
    const { fake, handle } = await box();
    expect(fake.policy('box')).toBeUndefined();
    await fake.applyNetworkPolicy(handle, { allow: ['a.test'] });
    await fake.applyNetworkPolicy(handle, { allow: [] });
    expect(fake.policy('box')).toEqual({ allow: [] });
    expect(await fake.publicUrl(handle, { port: 8080 })).toBe('https://sandbox.test/box/8080/');
    expect(await fake.hostPath(handle, '/a')).toBe('/a');
  });

  test('each capability can be left out, and is refused then', async () => {
    const calls: Record<string, (fake: FakeAdapter, handle: SandboxHandle) => Promise<unknown>> = {
      suspend: (f, h) => f.suspend(h),
      attach: (f, h) => f.attach(h, 's'),
      terminate_session: (f, h) => f.terminateSession(h, 's'),
      files: (f, h) => f.readFile(h, 'a'),
      tty: (f, h) => f.spawn(h, 'stay', [], { tty: true }),
      network_policy: (f, h) => f.applyNetworkPolicy(h, { allow: [] }),
      public_url: (f, h) => f.publicUrl(h, { port: 1 }),
      create_new: (f) => f.createNew('box'),
      checkpoint: (f, h) => f.createCheckpoint(h),
    };
    for (const capability of SANDBOX_CAPABILITIES) {
      const { fake, handle } = await box({ capabilities: [...FAKE_CAPABILITIES].filter((one) => one !== capability) });
      expect(fake.supports(capability)).toBe(false);
      expect(await refusal((calls[capability] as (typeof calls)[string])(fake, handle))).toEqual({
        code: 'not_supported',
        effect: 'none',
      });
    }
    expect(() => new FakeAdapter({ capabilities: ['teleport' as SandboxCapability] })).toThrow(SandboxError);
  });

  test('the next calls of an operation fail before or after their work, in order', async () => {
    const { fake } = await box();
    const lost = new SandboxError('unavailable', { effect: 'unknown' });
    fake.failNext('createNew', new SandboxError('rate_limited', { retryAfterMs: 5 }));
    fake.failNext('createNew', lost, { when: 'after' });
    expect(await refusal(fake.createNew('new'))).toEqual({ code: 'rate_limited', effect: 'none' });
    expect(await fake.listAllNames()).toEqual(['box']);
    expect(await refusal(fake.createNew('new'))).toEqual({ code: 'unavailable', effect: 'unknown' });
    expect(await fake.listAllNames()).toEqual(['box', 'new']);
    expect(await refusal(fake.createNew('new'))).toEqual({ code: 'already_exists', effect: 'none' });
  });

  test('a spawn or an attach whose answer is lost leaves no reader behind', async () => {
    const { fake, handle } = await box();
    fake.failNext('spawn', new SandboxError('unavailable'), { when: 'after', times: 2 });
    expect(await refusal(fake.spawn(handle, 'stay'))).toEqual({ code: 'unavailable', effect: 'unknown' });
    expect(await refusal(fake.spawn(handle, 'stay', [], { detachable: true }))).toMatchObject({ code: 'unavailable' });
    expect(await record(await fake.attach(handle, 's-1'))).toMatchObject({ exit: { exitCode: 143 } });
    expect(await fake.listSessions(handle)).toMatchObject([{ id: 's-2' }]);
  });

  test('a failure is taken back that no call has met', async () => {
    const { fake, handle } = await box();
    const takeBack = fake.failNext('get', new SandboxError('unavailable'), { times: 2 });
    await expect(fake.get(handle)).rejects.toMatchObject({ code: 'unavailable' });
    takeBack();
    takeBack();
    expect((await fake.get(handle)).status).toBe('running');
  });

  test('another client of the account serves the same sandboxes', async () => {
    const { fake, handle } = await box();
    const other = new FakeAdapter({ account: fake });
    await other.writeFile(other.buildHandle('box'), 'file', 'seen');
    expect(fake.file('box', 'file')?.toString()).toBe('seen');
    expect((await fake.get(handle)).status).toBe('running');
  });

  test('calls count that reach the provider, refused ones not', async () => {
    const { fake, handle } = await box();
    await expect(fake.exec(handle, '')).rejects.toMatchObject({ code: 'invalid' });
    await expect(fake.get(fake.buildHandle('none'))).rejects.toMatchObject({ code: 'not_found' });
    expect(fake.requests).toBe(2);
  });

  test('stalled, nothing is answered until that ends', async () => {
    const { fake, handle } = await box();
    const end = fake.stall();
    const abort = new AbortController();
    const aborted = refusal(fake.create('late', { signal: abort.signal }));
    const pending = fake.get(handle);
    expect(await isPending(pending)).toBe(true);
    abort.abort();
    expect(await aborted).toEqual({ code: 'aborted', effect: 'unknown' });
    end();
    expect((await pending).status).toBe('running');
    await expect(fake.get(fake.buildHandle('late'))).rejects.toMatchObject({ code: 'not_found' });
  });

  test('stalled, an exec keeps its deadline, and what is left of it afterwards', async () => {
    const clock = new ManualClock();
    const { fake, handle } = await box({ clock });
    const end = fake.stall();
    const late = refusal(fake.exec(handle, 'out:x', [], { timeoutMs: 100 }));
    const staying = refusal(fake.exec(handle, 'stay', [], { timeoutMs: 300, stdin: endless() }));
    await turns();
    clock.advance(100);
    expect(await late).toEqual({ code: 'unavailable', detail: 'timeout', effect: 'unknown' });
    end();
    await turns();
    clock.advance(200);
    expect(await staying).toEqual({ code: 'unavailable', detail: 'timeout', effect: 'done' });
  });

  test('stalled, output and stdin of a command wait and go on in their order', async () => {
    const { fake, handle } = await box();
    const command = await fake.spawn(handle, 'stay', [], { stdin: true });
    const reading = record(command);
    await command.writeStdin('a');
    await turns();
    const end = fake.stall();
    const writing = Promise.all([command.writeStdin('b'), command.closeStdin()]);
    expect(await isPending(reading)).toBe(true);
    end();
    await writing;
    expect(await reading).toMatchObject({ stdout: 'echo:aecho:b', exit: { exitCode: 0 } });
  });

  test('offline, every call is unavailable and nothing happens', async () => {
    const { fake, handle } = await box();
    fake.offline(true);
    for (const call of [
      fake.get(handle),
      fake.create('b'),
      fake.createNew('b'),
      fake.destroy(handle),
      fake.listAllNames(),
      fake.suspend(handle),
      fake.exec(handle, 'out:a'),
      fake.spawn(handle, 'out:a'),
      fake.capabilitiesOf(handle),
      fake.readFile(handle, 'a'),
    ]) {
      expect(await refusal(call)).toEqual({ code: 'unavailable', effect: 'none' });
    }
    fake.offline(false);
    expect(await fake.listAllNames()).toEqual(['box']);
  });

  test('a disconnect ends streams without an exit, and detachable sessions live on', async () => {
    const { fake, handle } = await box();
    const kept = await fake.spawn(handle, 'out:a', ['stay'], { detachable: true, stdin: true });
    const other = await fake.spawn(handle, 'stay');
    const exec = fake.exec(handle, 'stay');
    await turns();
    fake.disconnect();
    const expected = { code: 'unavailable', detail: 'closed_before_exit' };
    for (const end of [kept.exit, other.exit, exec]) expect(await refusal(end)).toMatchObject(expected);
    const again = await fake.attach(handle, kept.sessionId ?? '', { stdin: true });
    await again.closeStdin();
    expect(await record(again)).toMatchObject({ stdout: 'a', exit: { exitCode: 0 } });
  });

  test('a sink between session and reader can spoil what arrives', async () => {
    class Deaf extends FakeAdapter {
      protected override sink(sink: Parameters<FakeAdapter['sink']>[0]) {
        return {
          frame: (frame: Parameters<typeof sink.frame>[0]) => void (frame.type === 'stderr' || sink.frame(frame)),
          error: sink.error.bind(sink),
        };
      }
    }
    const fake = new Deaf();
    const command = await fake.spawn(await fake.create('box'), 'out:a', ['err:b']);
    expect(await record(command)).toMatchObject({ stdout: 'a', stderr: '' });
  });

  test('one instance serves the tag that it is bound to', async () => {
    const fake = new FakeAdapter({ tag: 'sprites', clock: systemClock });
    expect(await fake.create('box')).toEqual({ provider: 'sprites', name: 'box' });
    fake.bind('runner');
    expect(fake.buildHandle('box').provider).toBe('runner');
  });
});

test('a command whose output broke off, or was left, is not run again; one that was joined is joined again', async () => {
  const { fake, handle } = await box();
  const session = await fake.spawn(handle, 'out:a', ['drop'], { detachable: true });
  await session.stop();
  let calls = 0;
  const spawned = async () => (calls++, (await fake.spawn(handle, 'out:a', ['drop'])).drain());
  const joined = async () => (calls++, (await fake.attach(handle, session.sessionId ?? '')).drain());
  const named = { detail: 'closed_before_exit', provider: 'fake' };
  await expect(withBackoff(spawned, { baseMs: 0 })).rejects.toMatchObject({ ...named, operation: 'spawn' });
  const left = async () => {
    calls++;
    const command = await fake.spawn(handle, 'stay');
    await command.stop();
    return command.exit;
  };
  await expect(withBackoff(left, { baseMs: 0 })).rejects.toMatchObject({ detail: 'detached', operation: 'spawn' });
  expect(calls).toBe(2);
  await expect(withBackoff(joined, { baseMs: 0 })).rejects.toMatchObject({ ...named, operation: 'attach' });
  expect(calls).toBe(5);
});
