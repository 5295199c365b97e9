import { describe, expect, test } from '@jest/globals';
import { SandboxError, type SandboxCommand, type SandboxHandle } from '#libs/contract';
import { turns } from './connected-peer.js';
import { FakeAdapter, type FakeAdapterOptions } from './fake-adapter.js';
import type { FakeProcess, FakeProgram } from './fake-program.js';
import { ManualClock } from './manual-clock.js';

async function running(programs: Readonly<Record<string, FakeProgram>>, options: FakeAdapterOptions = {}) {
  const clock = new ManualClock();
  const fake = new FakeAdapter({ clock, programs, ...options });
  return { fake, clock, box: await fake.create('box') };
}

async function record(command: SandboxCommand) {
  const printed = { stdout: '', stderr: '' };
  const exit = await command.forEach(({ type, data }) => void (printed[type] += Buffer.from(data).toString()));
  return { ...printed, exit };
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

const isPending = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([promise.then(() => false), turns(3).then(() => true)]);

/** Takes TERM, would take KILL, and does not end. */
const stubborn: FakeProgram = async (process) => {
  process.onSignal('SIGKILL', () => void process.write('stdout', 'never'));
  process.onSignal('SIGTERM', () => void process.write('stdout', 'no'));
  return new Promise(() => {});
};

describe('a program', () => {
  test('is told its command, its arguments as they are, its environment and its directory', async () => {
    const seen: unknown[] = [];
    const { fake, box } = await running({
      tool: ({ cmd, args, env, dir, tty, size, hasStdin }) => {
        seen.push({ cmd, args, env: { ...env }, dir, tty, size, hasStdin });
        return 0;
      },
    });
    const args = ['a b', '', '"', '$HOME', '\n'];
    await fake.writeFile(box, 'src/a', '');
    await fake.exec(box, 'tool', args, { env: JSON.parse('{"A":"1","__proto__":"2"}'), dir: '~/src/' });
    await fake.exec(box, 'tool');
    const none = { cmd: 'tool', tty: false, size: undefined, hasStdin: false };
    const own = { HOME: '/home/sandbox', PATH: '/usr/bin:/bin' };
    const env = Object.fromEntries([
      ...Object.entries(own),
      ['PWD', '/home/sandbox/src'],
      ['A', '1'],
      ['__proto__', '2'],
    ]);
    expect(seen).toEqual([
      { ...none, args, env, dir: '/home/sandbox/src' },
      { ...none, args: [], env: { ...own, PWD: '/home/sandbox' }, dir: '/home/sandbox' },
    ]);
  });

  test('goes before words, which are commands beside it', async () => {
    const { fake, box } = await running({ 'out:a': () => 7 });
    expect(await fake.exec(box, 'out:a')).toMatchObject({ exitCode: 7, output: Buffer.alloc(0) });
    expect((await fake.exec(box, 'out:b')).text()).toBe('b');
    expect(await fake.exec(box, 'toString')).toMatchObject({ exitCode: 127, startError: expect.any(String) });
  });

  test('writes exact bytes to two streams, or to one in its order', async () => {
    const { fake, box } = await running({
      mixed: async (process) => {
        await process.write('stdout', '1');
        void process.write('stderr', Buffer.from([0xff, 0]));
        void process.write('stdout', '3');
        return 255;
      },
    });
    const { output, stderr, exitCode } = await fake.exec(box, 'mixed');
    expect([output, stderr, exitCode]).toEqual([Buffer.from('13'), Buffer.from([0xff, 0]), 255]);
    const merged = await fake.exec(box, 'mixed', [], { stderrToStdout: true });
    expect([merged.output, merged.stderr]).toEqual([Buffer.from([0x31, 0xff, 0, 0x33]), undefined]);
  });

  test.each<[string, FakeProgram, string]>([
    ['throws', () => Promise.reject(new Error('boom')), 'boom\n'],
    ['ends with no exit code', () => 256, 'a program ends with an exit code from 0 to 255\n'],
    [
      'leaves with no exit code',
      (process) => (process.exit(0.5), 0),
      'a program ends with an exit code from 0 to 255\n',
    ],
  ])('that %s is exit 1, and says why on stderr', async (_, program, message) => {
    const { fake, box } = await running({ tool: program });
    const { stderr, exitCode } = await fake.exec(box, 'tool');
    expect([Buffer.from(stderr ?? []).toString(), exitCode]).toEqual([message, 1]);
  });

  test('waits with its output until a reader has taken it', async () => {
    const written: string[] = [];
    const tool: FakeProgram = async (process) => {
      for (const piece of ['aaaa', 'bbbb', 'cccc', 'dddd']) {
        await process.write('stdout', piece);
        written.push(piece);
      }
      return 0;
    };
    const { fake, box } = await running({ tool }, { limits: { windowBytes: 4 } });
    const command = await fake.spawn(box, 'tool');
    await turns();
    expect(written).toEqual(['aaaa']);
    expect((await record(command)).stdout).toBe('aaaabbbbccccdddd');
  });

  test('that never waits does not stop the others', async () => {
    const flood: FakeProgram = async (process) => {
      for (;;) await process.write('stdout', 'y');
    };
    const { fake, box, clock } = await running({ flood });
    const flooding = fake.exec(box, 'flood', [], { timeoutMs: 5 });
    await turns();
    clock.advance(5);
    expect(await refusal(flooding)).toEqual({ code: 'unavailable', detail: 'timeout', effect: 'done' });
    const limited = fake.exec(box, 'flood', [], { maxOutputBytes: 1_000 });
    expect(await refusal(limited)).toEqual({ code: 'truncated', detail: 'output_limit', effect: 'done' });
  });

  test('sleeps on the clock of the fake, and stands still with its sandbox', async () => {
    const tool: FakeProgram = async (process) => (await process.sleep(1_000), 3);
    const { fake, box, clock } = await running({ tool }, { onSuspend: 'freeze' });
    const command = await fake.spawn(box, 'tool');
    await turns();
    await fake.suspend(box);
    clock.advance(1_000);
    expect(await isPending(command.exit)).toBe(true);
    await fake.resume(box);
    expect(await command.exit).toEqual({ exitCode: 3 });
  });

  test('loses its transport where it says so', async () => {
    const { fake, box } = await running({ tool: (process) => (process.drop(), 0) });
    const expected = { code: 'unavailable', detail: 'closed_before_exit', effect: 'unknown' };
    expect(await refusal(fake.exec(box, 'tool'))).toEqual(expected);
  });

  test('reaches what the policy allows', async () => {
    const { fake, box } = await running({ reach: (process) => (process.reaches(process.args[0] ?? '') ? 0 : 1) });
    const reach = async (host: string) => (await fake.exec(box, 'reach', [host])).exitCode;
    expect(await reach('a.test')).toBe(0);
    await fake.applyNetworkPolicy(box, { allow: ['a.test'] });
    expect([await reach('a.test'), await reach('b.test')]).toEqual([0, 1]);
    await fake.applyNetworkPolicy(box, { allow: [] });
    expect(await reach('a.test')).toBe(1);
  });
});

describe('a path as a command', () => {
  const programs: Record<string, FakeProgram> = {
    sh: async (process) => (await process.write('stdout', process.args.join('|')), 0),
  };

  test('runs the program that the first line of a file names', async () => {
    const { fake, box } = await running(programs);
    await fake.writeFile(box, 'bin/tool', '#!/bin/sh\necho', { mode: 0o755 });
    expect((await fake.exec(box, './bin/tool', ['a b'])).text()).toBe('./bin/tool|a b');
    expect((await fake.exec(box, '/bin/sh', ['c'])).text()).toBe('c');
  });

  test.each<[string, string, number, string]>([
    ['may not be executed', './tool', 0o644, 'permission denied'],
    ['names no program', './tool', 0o755, 'its first line names no program'],
    ['is a directory', '/tmp', 0o755, 'is a directory'],
  ])('that %s is exit 126', async (_, path, mode, why) => {
    const { fake, box } = await running(programs);
    await fake.writeFile(box, 'tool', '#!/bin/none', { mode });
    const { exitCode, startError, output } = await fake.exec(box, path);
    expect([exitCode, startError, output.byteLength]).toEqual([126, `cannot be executed: ${why}`, 0]);
  });

  test('that leads nowhere is exit 127', async () => {
    const { fake, box } = await running(programs);
    expect(await fake.exec(box, './sh')).toMatchObject({ exitCode: 127, startError: expect.any(String) });
  });
});

describe('stdin of a program', () => {
  const cat: FakeProgram = async (process) => {
    for await (const piece of process.stdin) await process.write('stdout', piece);
    return 0;
  };

  test('is what was written, then EOF, and nothing where it was not opened', async () => {
    const { fake, box } = await running({ cat });
    expect(await fake.exec(box, 'cat')).toMatchObject({ exitCode: 0, output: Buffer.alloc(0) });
    const { output } = await fake.exec(box, 'cat', [], { stdin: Buffer.from([0, 255, 10]) });
    expect(output).toEqual(Buffer.from([0, 255, 10]));
  });

  test('waits in the pipe until it is read, by one loop after the other', async () => {
    const read: string[] = [];
    let go!: () => void;
    const gate = new Promise<void>((resolve) => (go = resolve));
    const tool: FakeProgram = async (process) => {
      for await (const piece of process.stdin) {
        read.push(Buffer.from(piece).toString());
        break;
      }
      await gate;
      for await (const piece of process.stdin) read.push(Buffer.from(piece).toString());
      return 0;
    };
    const { fake, box } = await running({ tool }, { limits: { pipeBytes: 4 } });
    const command = await fake.spawn(box, 'tool', [], { stdin: true });
    await command.writeStdin('aaaa');
    await command.writeStdin('bbbb');
    const third = command.writeStdin('cccc');
    expect([await isPending(third), read]).toEqual([true, ['aaaa']]);
    go();
    await third;
    await command.closeStdin();
    expect([await command.exit, read]).toEqual([{ exitCode: 0 }, ['aaaa', 'bbbb', 'cccc']]);
  });

  test('that was closed while the program lives takes no write', async () => {
    let close!: () => void;
    const deaf: FakeProgram = (process) => {
      close = () => process.closeStdin();
      return new Promise(() => {});
    };
    const { fake, box } = await running({ deaf }, { limits: { pipeBytes: 1 } });
    const command = await fake.spawn(box, 'deaf', [], { stdin: true });
    await command.writeStdin('aa');
    const waiting = command.writeStdin('bb');
    await turns();
    close();
    expect(await refusal(waiting)).toEqual({ code: 'write_failed', effect: 'unknown' });
    expect(await refusal(command.writeStdin('cc'))).toEqual({ code: 'write_failed', effect: 'none' });
    await command.closeStdin();
  });
});

describe('the end of a program', () => {
  test('is where it says so, behind what it wrote, and it goes no further', async () => {
    const steps: string[] = [];
    const tool: FakeProgram = async (process) => {
      process.ended.addEventListener('abort', () => steps.push('ended'));
      void process.write('stdout', 'a');
      process.exit(4);
      await process.write('stdout', 'b');
      steps.push('went on');
      return 0;
    };
    const { fake, box } = await running({ tool });
    expect(await record(await fake.spawn(box, 'tool'))).toEqual({ stdout: 'a', stderr: '', exit: { exitCode: 4 } });
    await turns();
    expect(steps).toEqual(['ended']);
  });

  test('may come before that of what it leaves in the background, whose output goes nowhere', async () => {
    const tool: FakeProgram = async (process) => {
      process.daemonize(0);
      await process.sleep(1_000);
      await process.write('stdout', 'late');
      process.files.write('late', 'x');
      await process.sleep(1_000);
      process.files.write('later', 'x');
      return 9;
    };
    const { fake, box, clock } = await running({ tool });
    const command = await fake.spawn(box, 'tool', [], { detachable: true });
    expect(await record(command)).toEqual({ stdout: '', stderr: '', exit: { exitCode: 0 } });
    await clock.pass(1_000);
    expect(fake.file('box', 'late')?.toString()).toBe('x');
    const again = await record(await fake.attach(box, command.sessionId ?? ''));
    expect(again).toEqual({ stdout: '', stderr: '', exit: { exitCode: 0 } });
    expect(clock.pending).toBe(1);
    await fake.suspend(box);
    expect(clock.pending).toBe(0);
    await clock.pass(1_000);
    expect(fake.file('box', 'later')).toBeUndefined();
  });

  test('is what the handler of a signal makes of it', async () => {
    const polite: FakeProgram = async (process) => {
      process.onSignal('SIGTERM', async () => {
        await process.write('stdout', 'bye');
        process.exit(5);
      });
      return new Promise(() => {});
    };
    const failing: FakeProgram = async (process) => {
      process.onSignal('SIGTERM', () => Promise.reject(new Error('worse')));
      return new Promise(() => {});
    };
    const { fake, box, clock } = await running({ polite, failing });
    for (const [cmd, expected] of [
      ['polite', { stdout: 'bye', stderr: '', exit: { exitCode: 5 } }],
      ['failing', { stdout: '', stderr: 'worse\n', exit: { exitCode: 1 } }],
    ] as const) {
      const command = await fake.spawn(box, cmd);
      await turns();
      await fake.terminateSession(box, command.sessionId ?? '');
      expect(await record(command)).toEqual(expected);
    }
    expect(clock.pending).toBe(0);
  });
});

test('a program that sends itself a signal dies of it behind what it wrote, or takes it', async () => {
  const { fake, box } = await running({
    dies: async ({ write, raise, sleep }) => {
      void write('stdout', 'a');
      raise('SIGABRT');
      await sleep(1);
      return 0;
    },
    lives: async ({ write, raise, onSignal }) => {
      onSignal('SIGUSR1', () => void write('stdout', 'b'));
      raise('SIGUSR1');
      await write('stdout', 'a');
      return 0;
    },
  });
  expect(await record(await fake.spawn(box, 'dies'))).toEqual({
    stdout: 'a',
    stderr: '',
    exit: { exitCode: 134, signal: 'SIGABRT' },
  });
  expect((await fake.exec(box, 'lives')).text()).toBe('ab');
});

describe('a stop', () => {
  async function stubbornOne() {
    const more = await running({ stubborn });
    const command = await more.fake.spawn(more.box, 'stubborn', [], { detachable: true });
    await turns();
    return { ...more, command, id: command.sessionId ?? '' };
  }

  test('of a command that takes TERM is KILL after the grace, and not a moment before', async () => {
    const { fake, box, clock, command, id } = await stubbornOne();
    const stopping = fake.terminateSession(box, id, { timeoutMs: 700 });
    await turns();
    clock.advance(699);
    expect([await isPending(stopping), await isPending(command.exit)]).toEqual([true, true]);
    clock.advance(1);
    await stopping;
    expect(await record(command)).toMatchObject({ stdout: 'no', exit: { exitCode: 137, signal: 'SIGKILL' } });
    await fake.terminateSession(box, id);
    expect(clock.pending).toBe(0);
  });

  test('by force is KILL at once', async () => {
    const { fake, box, command, id } = await stubbornOne();
    await fake.terminateSession(box, id, { mode: 'force' });
    expect(await record(command)).toMatchObject({ stdout: '', exit: { exitCode: 137, signal: 'SIGKILL' } });
  });

  test('whose call is aborted is under way', async () => {
    const { fake, box, clock, command, id } = await stubbornOne();
    const abort = new AbortController();
    const stopping = fake.terminateSession(box, id, { signal: abort.signal });
    await turns();
    abort.abort();
    expect(await refusal(stopping)).toEqual({ code: 'aborted', effect: 'unknown' });
    clock.advance(10_000);
    expect(await command.exit).toEqual({ exitCode: 137, signal: 'SIGKILL' });
  });

  test.each<[string, (fake: FakeAdapter, box: SandboxHandle) => Promise<unknown>]>([
    ['destroy', (fake, box) => fake.destroy(box)],
    ['suspend', (fake, box) => fake.suspend(box)],
  ])('by a %s waits 5 s for it', async (_, act) => {
    const { fake, box, clock, command } = await stubbornOne();
    const acting = act(fake, box);
    await turns();
    clock.advance(4_999);
    expect(await isPending(acting)).toBe(true);
    clock.advance(1);
    await acting;
    expect(await command.exit).toEqual({ exitCode: 137, signal: 'SIGKILL' });
  });

  test('with its last reader waits 5 s for it', async () => {
    let isOver = false;
    const tool: FakeProgram = (process) => {
      process.ended.addEventListener('abort', () => (isOver = true));
      return stubborn(process);
    };
    const { fake, box, clock } = await running({ tool });
    const command = await fake.spawn(box, 'tool');
    await turns();
    await command.stop();
    clock.advance(4_999);
    expect(isOver).toBe(false);
    clock.advance(1);
    expect(isOver).toBe(true);
  });

  test.each<[string, object, (clock: ManualClock, abort: AbortController) => void, object]>([
    ['a deadline', { timeoutMs: 50 }, (clock) => clock.advance(50), { code: 'unavailable', detail: 'timeout' }],
    ['an output limit', { maxOutputBytes: 3 }, () => {}, { code: 'truncated', detail: 'output_limit' }],
    ['an abort', {}, (_, abort) => abort.abort(), { code: 'aborted' }],
  ])('at %s of an exec is KILL 2 s after TERM', async (_, options, act, expected) => {
    const tool: FakeProgram = (process) => {
      void process.write('stdout', 'four');
      return stubborn(process);
    };
    const { fake, box, clock } = await running({ tool });
    const abort = new AbortController();
    const exec = fake.exec(box, 'tool', [], { ...options, signal: abort.signal });
    await turns();
    act(clock, abort);
    await turns();
    clock.advance(1_999);
    expect(await isPending(exec)).toBe(true);
    clock.advance(1);
    expect(await refusal(exec)).toEqual({ ...expected, effect: 'done' });
    expect(clock.pending).toBe(0);
  });
});

describe('on a terminal', () => {
  const terminal: FakeProgram = async (process) => {
    process.onResize(({ cols, rows }) => void process.write('stderr', `[${cols}x${rows}]`));
    await process.write('stdout', `${process.size?.cols}x${process.size?.rows} ${process.env['TERM']}\n`);
    for await (const piece of process.stdin) await process.write('stdout', piece);
    await process.write('stdout', '<eof>');
    for await (const piece of process.stdin) await process.write('stdout', piece);
    return 0;
  };

  test('a program has one raw stream, a size that changes, and an end of input that is a byte', async () => {
    const { fake, box } = await running({ terminal });
    const command = await fake.spawn(box, 'terminal', [], { tty: { cols: 100, rows: 40 }, stdin: true });
    const reading = record(command);
    await command.writeStdin('a\x04b');
    await turns();
    await command.resize({ cols: 10, rows: 5 });
    await command.writeStdin('\x04');
    expect(await reading).toEqual({
      stdout: '100x40 xterm-256color\na<eof>b[10x5]',
      stderr: '',
      exit: { exitCode: 0 },
    });
    await command.resize({ cols: 1, rows: 1 });
  });

  test('byte 3 is the signal INT', async () => {
    const { fake, box } = await running({ terminal });
    const command = await fake.spawn(box, 'terminal', [], { tty: true, stdin: true });
    await turns();
    await command.writeStdin('\x03');
    expect(await command.exit).toEqual({ exitCode: 130, signal: 'SIGINT' });
  });

  test('a session is joined from where it is, and not from before', async () => {
    const { fake, box } = await running({ terminal });
    const { sessionId: id = '' } = await fake.spawn(box, 'terminal', [], { tty: true, stdin: true, detachable: true });
    await turns();
    expect(await fake.listSessions(box)).toMatchObject([{ id, tty: true }]);
    for (const from of [undefined, { stdout: 5 }]) {
      expect(await refusal(fake.attach(box, id, { ...(from && { from }) }))).toEqual({
        code: 'truncated',
        effect: 'none',
      });
    }
    const joined = await fake.attach(box, id, { from: 'now', stdin: true });
    const reading = record(joined);
    await joined.resize({ cols: 1, rows: 2 });
    await joined.closeStdin();
    expect(await reading).toMatchObject({ stdout: '[1x2]<eof>', exit: { exitCode: 0 } });
  });
});

describe('sandboxes of programs', () => {
  test('go back to a checkpoint, without what ran', async () => {
    const { fake, box } = await running({ append: ({ files, args }) => (files.write('log', args[0] ?? ''), 0) });
    await fake.writeFile(box, 'a', 'one', { mode: 0o600 });
    const { id } = await fake.createCheckpoint(box);
    await fake.writeFile(box, 'a', 'two', { mode: 0o644 });
    await fake.exec(box, 'append', ['x']);
    const command = await fake.spawn(box, 'stay', [], { detachable: true });
    await fake.restoreCheckpoint(box, id);
    expect(await command.exit).toEqual({ exitCode: 143, signal: 'SIGTERM' });
    expect([fake.file('box', 'a')?.toString(), fake.file('box', 'log')]).toEqual(['one', undefined]);
    expect(await fake.statFile(box, 'a')).toMatchObject({ mode: 0o600 });
    await fake.writeFile(box, 'a', 'three');
    await fake.restoreCheckpoint(box, id);
    expect(fake.file('box', 'a')?.toString()).toBe('one');
  });

  test('do not go back to what is no checkpoint of theirs, or where it fails', async () => {
    const { fake, box } = await running({});
    const other = await fake.create('other');
    const { id } = await fake.createCheckpoint(other);
    expect(await refusal(fake.restoreCheckpoint(box, id))).toEqual({ code: 'not_found', effect: 'none' });
    fake.failNext('restoreCheckpoint', new SandboxError('restore_failed', { effect: 'unknown' }));
    expect(await refusal(fake.restoreCheckpoint(other, id))).toEqual({ code: 'restore_failed', effect: 'unknown' });
  });

  test('are created once, however many ask at once', async () => {
    const fake = new FakeAdapter();
    const made = await Promise.allSettled([fake.createNew('a'), fake.createNew('a')]);
    expect(made).toMatchObject([{ status: 'fulfilled' }, { reason: { code: 'already_exists' } }]);
    await Promise.all([fake.create('b'), fake.create('b')]);
    expect(await fake.createNew('c')).toMatchObject({ instanceId: 'i-3' });
    await Promise.all([fake.destroy(fake.buildHandle('a')), fake.create('a')]);
    expect((await fake.get(fake.buildHandle('a'))).raw).toMatchObject({ instanceId: 'i-4' });
  });

  test('leave to a new incarnation nothing that still ends', async () => {
    let old: FakeProcess | undefined;
    const tool: FakeProgram = (process) => ((old = process), stubborn(process));
    const { fake, box, clock } = await running({ tool });
    const command = await fake.spawn(box, 'tool', [], { detachable: true });
    await turns();
    const destroying = fake.destroy(box);
    const again = await fake.create('box');
    old?.files.write('late', 'x');
    expect([fake.file('box', 'late'), await fake.listSessions(again)]).toEqual([undefined, []]);
    clock.advance(5_000);
    await destroying;
    expect(await command.exit).toEqual({ exitCode: 137, signal: 'SIGKILL' });
  });
});
