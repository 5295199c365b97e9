import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { SandboxError } from '#libs/contract/core';
import {
  JournalReader,
  LocalKeeper,
  RootLockedError,
  type KeeperLimits,
  type SessionEnd,
  type SessionSpec,
} from './index.js';

let root: string;
let keeper: LocalKeeper;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'keeper-'));
  keeper = await LocalKeeper.open({ root });
  await keeper.create('box');
});

afterEach(async () => {
  await keeper.close();
  for (const path of [root, `${root}-gone`]) rmSync(path, { recursive: true, force: true });
});

interface Outcome {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly end: SessionEnd;
}

async function ended(id: string): Promise<void> {
  if ((await keeper.journal('box', id)).ended) return;
  await new Promise<void>((resolve) => {
    const off = keeper.onTail((tail) => {
      if (tail.id !== id || !tail.ended) return;
      off();
      resolve();
    });
  });
}

async function outcome(id: string): Promise<Outcome> {
  await ended(id);
  const view = await keeper.journal('box', id);
  const reader = await JournalReader.open(view, 'oldest');
  const output = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
  let end: SessionEnd | undefined;
  for (;;) {
    const records = await reader.read(view.position, 1 << 20);
    if (records.length === 0) break;
    for (const record of records) {
      if (record.type === 'end') end = record.end;
      else output[record.type].push(record.data);
    }
  }
  await reader.close();
  expect(end).toEqual(view.ended);
  return { stdout: Buffer.concat(output.stdout), stderr: Buffer.concat(output.stderr), end: view.ended! };
}

async function reopen(limits: Partial<KeeperLimits>): Promise<void> {
  await keeper.close();
  keeper = await LocalKeeper.open({ root, limits });
}

async function start(script: string, spec: Partial<SessionSpec> = {}): Promise<string> {
  const { id } = await keeper.start({ sandbox: 'box', cmd: 'sh', args: ['-c', script], env: [], ...spec });
  return id;
}

/** Waits until the session has written `bytes`. */
async function written(id: string, bytes: number): Promise<void> {
  const enough = async () => {
    const { offsets, ended: end } = await keeper.journal('box', id);
    return offsets.stdout + offsets.stderr >= bytes || end !== undefined;
  };
  if (await enough()) return;
  await new Promise<void>((resolve) => {
    const off = keeper.onTail(({ id: grown, offsets }) => {
      if (grown !== id || offsets.stdout + offsets.stderr < bytes) return;
      off();
      resolve();
    });
  });
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Live processes, zombies aside, that carry `text` in their environment, or in their command line. */
function processesWith(text: string, where: 'environ' | 'cmdline' = 'environ'): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/${where}`, 'latin1').includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Live processes whose working directory is `directory`. */
function processesIn(directory: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`) === directory;
    } catch {
      return false;
    }
  });
}

/** At one stroke, and whatever is being made in it. */
const removeRoot = () => renameSync(root, `${root}-gone`);

const openFiles = () => readdirSync('/proc/self/fd').length;

async function run(cmd: string, args: string[], spec: Partial<SessionSpec> = {}): Promise<Outcome> {
  const { id } = await keeper.start({ sandbox: 'box', cmd, args, env: [], ...spec });
  const result = await outcome(id);
  await keeper.forget('box', id);
  return result;
}

const sh = async (script: string, spec?: Partial<SessionSpec>) => await run('sh', ['-c', script], spec);

describe('a command', () => {
  test('gives its bytes and its exit code', async () => {
    const { stdout, stderr, end } = await sh('printf out; printf err >&2; exit 7');
    expect([String(stdout), String(stderr), end]).toEqual(['out', 'err', { exit: { exitCode: 7 } }]);
  });

  test('writes both streams to one with stderrToStdout, in its own order', async () => {
    const { stdout, stderr } = await sh('printf 1; printf 2 >&2; printf 3', { stderrToStdout: true });
    expect([String(stdout), stderr.length]).toEqual(['123', 0]);
  });

  test('can open /dev/stdout', async () => {
    const { stdout } = await sh('echo x >/dev/stdout; echo y | tee /dev/stderr');
    expect(String(stdout)).toBe('x\ny\n');
  });

  test('keeps arbitrary bytes of both streams', async () => {
    const script = 'head -c 1000000 /dev/urandom >a; head -c 1000000 /dev/urandom >b; cat a; cat b >&2';
    const { stdout, stderr } = await sh(script);
    const hash = (data: Buffer) => createHash('sha256').update(data).digest('hex');
    expect(hash(stdout)).toBe(hash(readFileSync(join(root, 'box', 'a'))));
    expect(hash(stderr)).toBe(hash(readFileSync(join(root, 'box', 'b'))));
  });

  test('ends although a background process holds its output, which is not killed by it', async () => {
    const waiting = 'until [ -e go ]; do sleep 0.02; done';
    const { stdout, end } = await sh(`(${waiting}; echo late; echo late; touch survived) & echo hi`);
    expect([String(stdout), end]).toEqual(['hi\n', { exit: { exitCode: 0 } }]);
    writeFileSync(join(root, 'box', 'go'), '');
    await until(() => existsSync(join(root, 'box', 'survived')));
  });

  const DEADLY = ['HUP', 'INT', 'QUIT', 'ILL', 'TRAP', 'ABRT', 'BUS', 'FPE', 'KILL', 'USR1', 'SEGV', 'USR2', 'PIPE'];
  test.each([...DEADLY, 'ALRM', 'TERM', 'XCPU', 'XFSZ', 'VTALRM', 'PROF'])('killed by %s says so', async (name) => {
    const signal = `SIG${name}` as NodeJS.Signals;
    const { end } = await sh(`ulimit -c 0; kill -${name} $$`);
    expect(end).toEqual({ exit: { exitCode: 128 + constants.signals[signal], signal } });
  });

  test.each([34, 50, 64])(
    'killed by real-time signal %i looks like one that exited 0, as long as Node reports it so',
    async (signal) => {
      const { end } = await sh(`kill -${signal} $$; exit 9`);
      expect(end).toEqual({ exit: { exitCode: 0 } });
    },
  );

  test('runs in the sandbox with a clean environment', async () => {
    process.env['KEEPER_SPEC_TOKEN'] = 'secret';
    const { stdout } = await sh('pwd; env', {
      env: [
        ['A', 'b=c'],
        ['SANDBOX_SESSION', 'forged'],
      ],
    });
    delete process.env['KEEPER_SPEC_TOKEN'];
    const lines = String(stdout).split('\n');
    expect(lines).toEqual(expect.arrayContaining([join(root, 'box'), `HOME=${join(root, 'box')}`, 'A=b=c']));
    expect(lines.some((line) => /^SANDBOX_SESSION=s-[0-9a-f]{32}$/.test(line))).toBe(true);
    expect(String(stdout)).not.toContain('secret');
    expect(String(stdout)).not.toContain('NODE_OPTIONS');
  });

  test.each([
    ['~/sub', 'sub'],
    ['/home/sprite/sub', 'sub'],
    ['sub', 'sub'],
    ['~', ''],
  ])('runs in dir %s', async (dir, below) => {
    mkdirSync(join(root, 'box', 'sub'));
    expect(String((await sh('pwd', { dir })).stdout)).toBe(`${join(root, 'box', below)}\n`);
  });

  test('gets its arguments unchanged', async () => {
    const args = ['/home/sprite/x', '~', 's#/home/sprite#Q#', '', 'ä\n'];
    const { stdout } = await run('printf', ['%s|', ...args]);
    expect(String(stdout)).toBe(`${args.join('|')}|`);
  });

  test('loses none of 5 000 000 bytes, a hundred times', async () => {
    for (let round = 0; round < 20; round += 1) {
      const results = await Promise.all(
        Array.from({ length: 5 }, async () => await sh('head -c 5000000 /dev/zero | tr "\\0" a; exit 3')),
      );
      for (const { stdout, end } of results) {
        expect(stdout.length).toBe(5_000_000);
        expect(end).toEqual({ exit: { exitCode: 3 } });
      }
    }
  });

  test('runs 2 000 times, 50 at a time, and leaves nothing open', async () => {
    const files = openFiles();
    const timers = process.getActiveResourcesInfo().length;
    let left = 2_000;
    const worker = async () => {
      while (left > 0) {
        left -= 1;
        const { stdout, end } = await run('echo', ['ok']);
        expect([String(stdout), end]).toEqual(['ok\n', { exit: { exitCode: 0 } }]);
      }
    };
    await Promise.all(Array.from({ length: 50 }, worker));
    expect(keeper.stats()).toEqual({ running: 0, sessions: 0 });
    await until(() => openFiles() <= files && process.getActiveResourcesInfo().length <= timers);
    await until(() => readdirSync(join(root, '.runner', 'sessions', 'box')).length === 0);
  });
});

describe('a program that cannot be started', () => {
  beforeEach(() => {
    const box = join(root, 'box');
    writeFileSync(join(box, 'plain'), 'echo x');
    writeFileSync(join(box, 'script'), '#!/no/such/interpreter\n', { mode: 0o755 });
    writeFileSync(join(box, 'elf'), Buffer.concat([Buffer.from('\x7fELF'), Buffer.alloc(60, 0xee)]), { mode: 0o755 });
    mkdirSync(join(box, 'folder'));
  });

  test.each([
    ['no-such-cmd', 127, 'no-such-cmd: not found'],
    ['./missing', 127, './missing: not found'],
    ['./plain', 126, './plain: permission denied'],
    ['./folder', 126, './folder: is a directory'],
    ['./script', 127, './script: its interpreter was not found'],
    ['./elf', 126, './elf: wrong executable format'],
    ['./plain/x', 127, './plain/x: not found'],
  ])('%s ends with %i', async (cmd, exitCode, startError) => {
    expect(await run(cmd, [])).toEqual({
      stdout: Buffer.alloc(0),
      stderr: Buffer.alloc(0),
      end: { exit: { exitCode, startError } },
    });
  });
});

describe('a start is refused', () => {
  test.each<[string, Partial<SessionSpec>, string, string]>([
    ['a NUL in an argument', { args: ['a\0b'] }, 'invalid', 'argument'],
    ['a NUL in the program', { cmd: 'a\0b' }, 'invalid', 'argument'],
    ['no program', { cmd: '' }, 'invalid', 'argument'],
    ['a NUL in a value', { env: [['A', 'a\0b']] }, 'invalid', 'argument'],
    ['an empty name', { env: [['', 'x']] }, 'invalid', 'argument'],
    ['a name with =', { env: [['A=B', 'x']] }, 'invalid', 'argument'],
    ['a name with a space', { env: [['A B', 'x']] }, 'invalid', 'argument'],
    ['a NUL in dir', { dir: 'a\0b' }, 'invalid', 'argument'],
    ['a missing dir', { dir: 'nope' }, 'invalid', 'no_such_directory'],
    ['a dir that is a file', { dir: '/etc/passwd' }, 'invalid', 'no_such_directory'],
    ['an argument of 200 KB', { args: ['x'.repeat(200_000)] }, 'invalid', 'argument_list_too_long'],
    ['3 MB of environment', { env: manyVariables() }, 'invalid', 'argument_list_too_long'],
    ['a timeout of 0', { timeoutMs: 0 }, 'invalid', 'argument'],
    ['a timeout that is no number', { timeoutMs: Number.NaN }, 'invalid', 'argument'],
    ['a name that leaves the root', { sandbox: '../box' }, 'invalid', 'argument'],
  ])('%s', async (_, spec, code, detail) => {
    await run('true', []);
    const files = openFiles();
    const refused = keeper.start({ sandbox: 'box', cmd: 'echo', args: [], env: [], ...spec });
    await expect(refused).rejects.toMatchObject({ code, detail, effect: 'none' });
    expect(keeper.stats()).toEqual({ running: 0, sessions: 0 });
    await until(() => openFiles() <= files);
    expect((await run('true', [])).end).toEqual({ exit: { exitCode: 0 } });
  });

  test('no such sandbox', async () => {
    const refused = keeper.start({ sandbox: 'other', cmd: 'true', args: [], env: [] });
    await expect(refused).rejects.toMatchObject({ code: 'not_found', effect: 'none' });
  });

  test('more than may run', async () => {
    await reopen({ liveSessions: 2 });
    await start('sleep 60');
    await start('sleep 60');
    await expect(start('true')).rejects.toMatchObject({ code: 'unavailable', detail: 'session_limit', effect: 'none' });
  });

  test('more than may hold a pipe or a process, though their commands have ended', async () => {
    await reopen({ liveSessions: 2 });
    const ids = [await start('sleep 60 &'), await start('sleep 60 >/dev/null 2>&1 &')];
    await Promise.all(ids.map(ended));
    expect(keeper.stats().running).toBe(0);
    await expect(start('true')).rejects.toMatchObject({ code: 'unavailable', detail: 'session_limit', effect: 'none' });
    await keeper.stop('box', ids[0]!, { graceMs: 1_000 });
    let next = await start('true').catch(() => undefined);
    while (!next) {
      await new Promise((resolve) => setImmediate(resolve)); // until the end of its pipe was seen
      next = await start('true').catch(() => undefined);
    }
    expect((await outcome(next)).end).toEqual({ exit: { exitCode: 0 } });
  });
});

describe('stdin', () => {
  test('is empty unless it was asked for', async () => {
    expect(String((await sh('cat; echo end')).stdout)).toBe('end\n');
    const id = await start('sleep 60');
    await expect(keeper.write('box', id, 'next', Buffer.from('x'))).rejects.toMatchObject({
      code: 'invalid',
      detail: 'stdin_not_open',
    });
  });

  test('arrives whole and in the order of the calls, EOF last', async () => {
    const { id } = await keeper.start({ sandbox: 'box', cmd: 'cat', args: [], env: [], stdin: true });
    const chunks = Array.from({ length: 1_000 }, (_, i) =>
      Buffer.from(i % 100 === 0 ? `${i}`.repeat(100_000) : `${i};`),
    );
    const writes = chunks.map(async (chunk) => await keeper.write('box', id, 'next', chunk));
    await keeper.closeStdin('box', id);
    await keeper.closeStdin('box', id);
    const applied = await Promise.all(writes);
    const whole = Buffer.concat(chunks);
    expect(applied.at(-1)).toEqual({ applied: whole.length });
    const { stdout, end } = await outcome(id);
    expect([stdout.equals(whole), end]).toEqual([true, { exit: { exitCode: 0 } }]);
    await keeper.closeStdin('box', id);
    await expect(keeper.write('box', id, 'next', Buffer.from('x'))).rejects.toMatchObject({
      code: 'command_exited',
      effect: 'none',
    });
  });

  test('is written once though a write is repeated', async () => {
    const { id } = await keeper.start({ sandbox: 'box', cmd: 'cat', args: [], env: [], stdin: true });
    expect(await keeper.write('box', id, 0, Buffer.from('abc'))).toEqual({ applied: 3 });
    expect(await keeper.write('box', id, 0, Buffer.from('abc'))).toEqual({ applied: 3 });
    expect(await keeper.write('box', id, 1, Buffer.from('bcd'))).toEqual({ applied: 4 });
    await expect(keeper.write('box', id, 9, Buffer.from('x'))).rejects.toMatchObject({ detail: 'offset_beyond_end' });
    await keeper.closeStdin('box', id);
    await expect(keeper.write('box', id, 'next', Buffer.from('x'))).rejects.toMatchObject({ detail: 'stdin_closed' });
    expect(String((await outcome(id)).stdout)).toBe('abcd');
  });

  test('that nobody reads fails with the exit', async () => {
    const id = await start('read line; exit 5', { stdin: true });
    const writes = Array.from(
      { length: 50 },
      async () => await keeper.write('box', id, 'next', Buffer.alloc(1 << 20, '\n')),
    );
    const results = await Promise.allSettled(writes);
    const failures = results.flatMap((result) => {
      if (result.status === 'fulfilled') return [];
      const { code, effect } = result.reason as SandboxError;
      return [`${code} ${effect}`];
    });
    expect([...new Set(failures)]).toEqual(['command_exited unknown']);
    expect(results.at(-1)?.status).toBe('rejected');
    expect((await outcome(id)).end).toEqual({ exit: { exitCode: 5 } });
  });

  test('that the process closed fails while it lives', async () => {
    const id = await start('exec 0<&-; echo closed; sleep 60', { stdin: true });
    await written(id, 7);
    const write = async () => await keeper.write('box', id, 'next', Buffer.alloc(1 << 20));
    await expect(write()).rejects.toMatchObject({ code: 'write_failed' });
    await expect(write()).rejects.toMatchObject({ code: 'write_failed' });
    await keeper.closeStdin('box', id);
    expect(await keeper.stop('box', id, { graceMs: 1_000 })).toEqual({ gone: true });
  });

  test('that is never read does not hinder a destroy', async () => {
    const id = await start('exec sleep 60', { stdin: true });
    const pending = keeper.write('box', id, 'next', Buffer.alloc(1 << 20)).catch((error: unknown) => error);
    await keeper.destroy('box');
    expect(await pending).toMatchObject({ code: 'command_exited', effect: 'unknown' });
  });
});

describe('limits of a session', () => {
  test('a timeout ends the whole group', async () => {
    const { end } = await sh('sleep 100 & wait', { timeoutMs: 100 });
    expect(end).toEqual({ exit: { exitCode: 143, signal: 'SIGTERM' }, stoppedBy: 'timeout', gone: true });
    expect(processesWith(`SANDBOX_DIRECTORY=${join(root, 'box')}`)).toEqual([]);
  });

  test('a process that ignores TERM is killed', async () => {
    await reopen({ limitGraceMs: 200 });
    const { end } = await sh("trap '' TERM; while :; do sleep 0.05; done", { timeoutMs: 1_000 });
    expect(end).toEqual({ exit: { exitCode: 137, signal: 'SIGKILL' }, stoppedBy: 'timeout', gone: true });
  });

  test('too much output ends it', async () => {
    const { stdout, end } = await run('yes', [], { maxOutputBytes: 100_000 });
    expect(end).toEqual({ exit: { exitCode: 143, signal: 'SIGTERM' }, stoppedBy: 'output_limit', gone: true });
    expect(stdout.length).toBeGreaterThan(100_000);
    expect(stdout.length).toBeLessThanOrEqual(100_000 + 65_536);
  });

  test('as much output as allowed is no excess', async () => {
    const { stdout, end } = await sh('printf 12345', { maxOutputBytes: 5 });
    expect([String(stdout), end]).toEqual(['12345', { exit: { exitCode: 0 } }]);
  });
});

describe('stop', () => {
  const ESCAPE = 'env -i setsid sh -c "trap : TERM; echo up; while :; do sleep 0.05; touch alive; done" & wait';

  test('reaches one that escaped in every way but its parentage, although it ignores TERM', async () => {
    const id = await start(ESCAPE);
    await until(() => existsSync(join(root, 'box', 'alive')));
    expect(processesIn(join(root, 'box')).length).toBeGreaterThan(1);
    expect(await keeper.stop('box', id, { graceMs: 300 })).toEqual({ gone: true });
    expect(processesIn(join(root, 'box'))).toEqual([]);
  });

  test('lets one that is stopped act on TERM', async () => {
    const id = await start('trap "exit 6" TERM; echo up; kill -STOP $$');
    await written(id, 3);
    expect(await keeper.stop('box', id, { graceMs: 5_000 })).toEqual({ gone: true });
    expect((await outcome(id)).end).toEqual({ exit: { exitCode: 6 } });
  });

  test.each([
    ['one that ignores TERM', "trap '' TERM; echo up; while :; do sleep 0.05; done"],
    ['one that left its group', 'setsid sleep 60 & echo up; wait'],
    ['one that cleared its environment', 'env -i sleep 60 & echo up; wait'],
    ['one that stopped itself', 'echo up; kill -STOP $$'],
  ])('%s', async (_, script) => {
    const id = await start(script);
    await written(id, 3);
    expect(await keeper.stop('box', id, { graceMs: 300 })).toEqual({ gone: true });
    expect(processesWith(`SANDBOX_SESSION=${id}`)).toEqual([]);
    await ended(id);
    expect(await keeper.stop('box', id, { graceMs: 300 })).toEqual({ gone: true });
  });

  test('sends the signal that was asked for', async () => {
    const id = await start('trap "exit 9" USR1; echo up; while :; do sleep 0.02; done');
    await written(id, 3);
    expect(await keeper.stop('box', id, { signal: 'SIGUSR1', graceMs: 5_000 })).toEqual({ gone: true });
    expect((await outcome(id)).end).toEqual({ exit: { exitCode: 9 } });
  });

  test('needs the right sandbox', async () => {
    await keeper.create('other');
    const id = await start('sleep 60');
    const refusals = ['stop', 'journal', 'write', 'closeStdin', 'forget'].map((call) => {
      const calls: Record<string, () => Promise<unknown>> = {
        stop: async () => await keeper.stop('other', id, { graceMs: 1 }),
        journal: async () => await keeper.journal('other', id),
        write: async () => await keeper.write('other', id, 'next', Buffer.from('x')),
        closeStdin: async () => await keeper.closeStdin('other', id),
        forget: async () => await keeper.forget('other', id),
      };
      return calls[call]!();
    });
    for (const refusal of refusals) await expect(refusal).rejects.toMatchObject({ code: 'not_found', effect: 'none' });
    expect((await keeper.journal('box', id)).ended).toBeUndefined();
  });
});

describe('list', () => {
  test('shows running detachable sessions, newest first', async () => {
    const first = await start('sleep 60', { detachable: true });
    await start('sleep 60');
    const last = await start('sleep 61', { detachable: true });
    const ends = await start('true', { detachable: true });
    await ended(ends);
    const sessions = await keeper.list('box');
    expect(sessions.map(({ id, command, tty }) => [id, command, tty])).toEqual([
      [last, 'sh -c sleep 61', false],
      [first, 'sh -c sleep 60', false],
    ]);
    expect(new Date(sessions[0]!.createdAt).toISOString()).toBe(sessions[0]!.createdAt);
    await expect(keeper.list('other')).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('the memory of a keeper', () => {
  test('holds neither arguments nor environment of a session, only the beginning of its command', async () => {
    const begin = async () => {
      const given = { args: ['-c', 'true', 'x'.repeat(2_000)], env: [['SECRET', 'x']] as [string, string][] };
      const id = await start('', { ...given, detachable: true, cmd: 'sh' });
      await ended(id);
      return [new WeakRef(given.args), new WeakRef(given.env)];
    };
    const kept = await begin();
    await new Promise(setImmediate);
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as () => void)();
    expect(kept.map((ref) => ref.deref())).toEqual([undefined, undefined]);
    const id = await start('sleep 60', { args: ['-c', 'sleep 60', 'x'.repeat(2_000)], detachable: true });
    const [listed] = await keeper.list('box');
    expect(listed).toMatchObject({ id, command: `sh -c sleep 60 ${'x'.repeat(1_024 - 15)}` });
  });
});

describe('the cap of a journal', () => {
  const TINY = { segmentBytes: 64 * 1024, journalBytes: 256 * 1024 };

  test('blocks the process until the reader has advanced', async () => {
    await reopen(TINY);
    const id = await start('head -c 5000000 /dev/zero | tr "\\0" a; echo; exit 3');
    let view = await keeper.journal('box', id);
    const reader = await JournalReader.open(view, 'oldest');
    let bytes = 0;
    while (!view.ended || reader.position < view.position) {
      const records = await reader.read(view.position, 32 * 1024);
      for (const record of records) if (record.type !== 'end') bytes += record.data.length;
      keeper.reach('box', id, reader.offsets);
      view = await keeper.journal('box', id);
      expect(view.offsets.stdout - view.oldest.stdout).toBeLessThan(256 * 1024 + 128 * 1024);
      if (records.length === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await reader.close();
    expect([bytes, view.ended]).toEqual([5_000_001, { exit: { exitCode: 3 } }]);
  });

  test('evicts the oldest while nobody reads', async () => {
    await reopen(TINY);
    const id = await start('head -c 5000000 /dev/zero');
    keeper.reach('box', id, 'detached');
    await ended(id);
    const view = await keeper.journal('box', id);
    expect([view.offsets.stdout, view.ended]).toEqual([5_000_000, { exit: { exitCode: 0 } }]);
    expect(view.oldest.stdout).toBeGreaterThan(4_500_000);
    await expect(JournalReader.open(view, { stdout: 0, stderr: 0 })).rejects.toMatchObject({
      code: 'truncated',
      detail: 'replay_evicted',
      cause: { oldest: view.oldest },
    });
    const { stdout } = await outcome(id);
    expect(stdout.length).toBe(5_000_000 - view.oldest.stdout);
  });

  test('on hold blocks, and a stop still ends it with its measured exit', async () => {
    await reopen(TINY);
    const id = await start('head -c 5000000 /dev/zero');
    keeper.reach('box', id, 'hold');
    await written(id, 256 * 1024);
    const { offsets } = await keeper.journal('box', id);
    expect(await keeper.stop('box', id, { graceMs: 1_000 })).toEqual({ gone: true });
    await ended(id);
    const view = await keeper.journal('box', id);
    expect(view.oldest).toEqual({ stdout: 0, stderr: 0 });
    expect(view.offsets.stdout - offsets.stdout).toBeLessThanOrEqual(256 * 1024);
    expect(view.ended).toEqual({ exit: { exitCode: 143, signal: 'SIGTERM' } });
  });

  test('of a sandbox drops ended sessions that nobody reads', async () => {
    await reopen({ segmentBytes: 64 * 1024, sandboxJournalBytes: 500_000 });
    const first = await start('head -c 300000 /dev/zero');
    await ended(first);
    const second = await start('head -c 400000 /dev/zero');
    await written(second, 150_000);
    expect((await keeper.journal('box', second)).ended).toBeUndefined();
    keeper.reach('box', first, 'detached');
    await ended(second);
    await expect(keeper.journal('box', first)).rejects.toMatchObject({ code: 'not_found' });
    expect((await outcome(second)).stdout.length).toBe(400_000);
  });

  test('keeps so many ended sessions that nobody reads', async () => {
    await reopen({ finishedSessions: 2 });
    const ids: string[] = [];
    for (let i = 0; i < 4; i += 1) {
      const id = await start('echo x');
      keeper.reach('box', id, 'detached');
      await ended(id);
      ids.push(id);
    }
    expect(keeper.stats().sessions).toBe(2);
    await expect(keeper.journal('box', ids[1]!)).rejects.toMatchObject({ code: 'not_found' });
    expect(String((await outcome(ids[2]!)).stdout)).toBe('x\n');
  });
});

describe('a sandbox', () => {
  test.each(['', '.', '..', '.hidden', 'a/b', '../x', 'a\0', 'ä', 'x'.repeat(129)])('is not named %j', async (name) => {
    await expect(keeper.create(name)).rejects.toMatchObject({ code: 'invalid', detail: 'argument' });
    await expect(keeper.destroy(name)).rejects.toMatchObject({ code: 'invalid', detail: 'argument' });
  });

  test('is made once, private, and listed', async () => {
    await keeper.create('box');
    await keeper.create('b2');
    expect(statSync(join(root, 'box')).mode & 0o777).toBe(0o700);
    expect((await keeper.names()).toSorted()).toEqual(['b2', 'box']);
    expect(await keeper.get('box')).toEqual({ status: 'running', path: join(root, 'box') });
  });

  test('is suspended after its exits were announced, and woken by a start', async () => {
    const id = await start('sleep 60');
    let announced: SessionEnd | undefined;
    keeper.onTail((tail) => (announced = tail.ended));
    await keeper.suspend('box');
    expect(announced).toEqual({ exit: { exitCode: 143, signal: 'SIGTERM' } });
    expect((await keeper.get('box')).status).toBe('suspended');
    expect((await outcome(id)).end).toEqual(announced);
    expect((await sh('true')).end).toEqual({ exit: { exitCode: 0 } });
    expect((await keeper.get('box')).status).toBe('running');
    await expect(keeper.suspend('none')).rejects.toMatchObject({ code: 'not_found' });
    await expect(keeper.resume('none')).rejects.toMatchObject({ code: 'not_found' });
  });

  test('is stopped but not suspended where that cannot be recorded', async () => {
    const id = await start('sleep 60');
    mkdirSync(join(root, '.runner', 'state', 'box.suspended', 'x'), { recursive: true });
    await expect(keeper.suspend('box')).rejects.toMatchObject({ code: 'unavailable', effect: 'done' });
    expect((await outcome(id)).end).toEqual({ exit: { exitCode: 143, signal: 'SIGTERM' } });
  });

  test('is not resumed where its mark cannot be removed', async () => {
    mkdirSync(join(root, '.runner', 'state', 'box.suspended', 'x'), { recursive: true });
    const REFUSED = { code: 'unavailable', effect: 'none' };
    await expect(keeper.resume('box')).rejects.toMatchObject(REFUSED);
    await expect(start('true')).rejects.toMatchObject(REFUSED);
    await expect(keeper.writeFile('box', 'f', Buffer.from('x'))).rejects.toMatchObject(REFUSED);
  });

  test('below what is no directory any more is not reported as gone', async () => {
    removeRoot();
    writeFileSync(root, '');
    const REFUSED = { code: 'unavailable', effect: 'none' };
    await expect(keeper.get('box')).rejects.toMatchObject(REFUSED);
    await expect(start('true')).rejects.toMatchObject(REFUSED);
  });

  test('on a disk that is not there for a while is not reported as gone, nor made anew in its place', async () => {
    removeRoot();
    const refused = { code: 'unavailable', effect: 'none' };
    for (const leaveMountPoint of [false, true]) {
      if (leaveMountPoint) mkdirSync(root);
      await expect(keeper.get('box')).rejects.toMatchObject(refused);
      await expect(keeper.names()).rejects.toMatchObject(refused);
      await expect(keeper.list('box')).rejects.toMatchObject(refused);
      await expect(start('true')).rejects.toMatchObject(refused);
      await expect(keeper.writeFile('box', 'f', Buffer.from('x'))).rejects.toMatchObject(refused);
      await expect(keeper.suspend('box')).rejects.toMatchObject(refused);
      await expect(keeper.resume('box')).rejects.toMatchObject(refused);
      await expect(keeper.create('box')).rejects.toMatchObject(refused);
      await expect(keeper.destroy('box')).rejects.toMatchObject({ code: 'unavailable' });
    }
    rmSync(root, { recursive: true });
    renameSync(`${root}-gone`, root);
    expect(await keeper.names()).toEqual(['box']);
    expect((await sh('exit 4')).end).toEqual({ exit: { exitCode: 4 } });
  });

  test('of which it cannot be told whether it is suspended is not called running', async () => {
    await keeper.suspend('box');
    rmSync(join(root, '.runner', 'state'), { recursive: true });
    writeFileSync(join(root, '.runner', 'state'), '');
    const REFUSED = { code: 'unavailable', effect: 'none' };
    await expect(keeper.get('box')).rejects.toMatchObject(REFUSED);
    await expect(start('true')).rejects.toMatchObject(REFUSED);
  });

  test('is destroyed with everything that writes in it, twice at once', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'outside-'));
    writeFileSync(join(outside, 'kept'), 'x');
    symlinkSync(outside, join(root, 'box', 'link'));
    const writing = 'i=0; while :; do i=$((i+1)); mkdir -p d$i; echo x >d$i/f; done';
    const scripts = [writing, `setsid sh -c '${writing}' & echo`, 'mkdir ro; touch ro/x; chmod 500 ro; sleep 60'];
    await Promise.all(scripts.map(async (script) => await start(script)));
    await until(() => readdirSync(join(root, 'box')).length > 20);
    const destroyed = Promise.all([keeper.destroy('box'), keeper.destroy('box')]);
    await expect(start('touch resurrected')).rejects.toMatchObject({ code: 'not_found', effect: 'none' });
    await destroyed;
    expect(existsSync(join(root, 'box'))).toBe(false);
    expect(readdirSync(join(root, '.runner', 'trash'))).toEqual([]);
    expect(processesWith(`SANDBOX_DIRECTORY=${join(root, 'box')}`)).toEqual([]);
    expect(readFileSync(join(outside, 'kept'), 'utf8')).toBe('x');
    rmSync(outside, { recursive: true });
    await keeper.destroy('box');
    expect(keeper.stats()).toEqual({ running: 0, sessions: 0 });
  });

  test('is destroyed, and whoever reads a session still comes to its end', async () => {
    const id = await start('echo last words; exec sleep 60');
    const unread = await start('sleep 60');
    keeper.reach('box', unread, 'detached');
    await written(id, 11);
    await keeper.destroy('box');
    await expect(keeper.journal('box', unread)).rejects.toMatchObject({ code: 'not_found' });
    const { stdout, end } = await outcome(id);
    expect([String(stdout), end]).toEqual(['last words\n', { exit: { exitCode: 143, signal: 'SIGTERM' } }]);
    keeper.reach('box', id, 'detached');
    await expect(keeper.journal('box', id)).rejects.toMatchObject({ code: 'not_found' });
    await until(() => readdirSync(join(root, '.runner', 'sessions')).length === 0);
  });

  test('is destroyed together with what forgotten commands left running', async () => {
    await sh('sleep 60 & setsid sleep 60 & echo');
    expect(processesWith(`SANDBOX_DIRECTORY=${join(root, 'box')}`)).toHaveLength(2);
    await keeper.destroy('box');
    expect(processesWith(`SANDBOX_DIRECTORY=${join(root, 'box')}`)).toEqual([]);
  });
});

describe('the root', () => {
  test('is held by one keeper', async () => {
    const second = LocalKeeper.open({ root });
    await expect(second).rejects.toThrow(RootLockedError);
    await expect(second).rejects.toMatchObject({ root, pid: process.pid });
  });

  test('is private, and left clean', async () => {
    await start('sleep 60');
    await keeper.close();
    await keeper.close();
    expect(statSync(root).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(root, '.runner', 'tmp'))).toEqual([]);
    expect(existsSync(join(root, '.runner', 'sessions'))).toBe(false);
    expect(processesWith(`SANDBOX_DIRECTORY=${join(root, 'box')}`)).toEqual([]);
    await expect(keeper.get('box')).rejects.toMatchObject({ code: 'unavailable', effect: 'none' });
    keeper = await LocalKeeper.open({ root });
    expect(await keeper.names()).toEqual(['box']);
  });

  test('is closed although it was removed, with what runs in it', async () => {
    const id = await start('echo up; exec sleep 60');
    await written(id, 3);
    removeRoot();
    await keeper.close();
    expect(processesWith(`SANDBOX_SESSION=${id}`)).toEqual([]);
    expect(existsSync(root)).toBe(false);
  });

  test('is left to whoever made it anew', async () => {
    removeRoot();
    mkdirSync(join(root, '.runner', 'sessions', 'theirs'), { recursive: true });
    const theirs = join(root, '.runner', 'lock.1');
    writeFileSync(theirs, JSON.stringify({ pid: 1, startTime: '1', bootId: 'another' }));
    await keeper.close();
    expect(readFileSync(theirs, 'utf8')).toContain('another');
    expect(existsSync(join(root, '.runner', 'sessions', 'theirs'))).toBe(true);
  });

  test('removed under a session at the cap of its journal ends nothing else', async () => {
    await reopen({ segmentBytes: 64 * 1024, journalBytes: 256 * 1024 });
    const id = await start('head -c 400000 /dev/zero; read line; head -c 5000000 /dev/zero', { stdin: true });
    await written(id, 250_000);
    removeRoot();
    keeper.reach('box', id, 'detached');
    await keeper.write('box', id, 'next', Buffer.from('\n')).catch(() => {});
    await ended(id);
    expect((await keeper.journal('box', id)).ended).toEqual({ lost: 'journal_failed' });
  });

  test('loses what a daemon that was killed left running, found by marker and by record', async () => {
    // Its environment is cleared, so only the record tells of it; and one in another group, which only its marker shows.
    const recorded = await start('exec env -i sleep 60');
    const marked = await start('setsid sleep 60 >/dev/null 2>&1 & exit');
    await ended(marked);
    const record = join(root, '.runner', 'sessions', 'box', recorded, 'process.json');
    await until(() => existsSync(record) && processesWith(`SANDBOX_SESSION=${recorded}`).length === 0);
    expect(processesWith(`SANDBOX_SESSION=${marked}`)).toHaveLength(1);
    expect(existsSync(join(root, '.runner', 'sessions', 'box', marked, 'process.json'))).toBe(false);
    const killed = keeper;
    const announced = new Map<string, SessionEnd>();
    killed.onTail(({ id, ended: end }) => end && announced.set(id, end));
    for (const name of readdirSync(join(root, '.runner'))) {
      if (name.startsWith('lock.')) rmSync(join(root, '.runner', name));
    }
    keeper = await LocalKeeper.open({ root });
    await until(() => announced.has(recorded));
    expect(announced.get(recorded)).toEqual({ exit: { exitCode: 143, signal: 'SIGTERM' } });
    expect(processesWith(`SANDBOX_SESSION=${marked}`)).toEqual([]);
    await killed.close();
    expect(await keeper.names()).toEqual(['box']);
  });

  test('loses what a daemon that was killed left running', async () => {
    await keeper.close();
    const runner = join(root, '.runner');
    for (const name of readdirSync(runner)) if (name.startsWith('lock.')) rmSync(join(runner, name));
    writeFileSync(join(runner, 'lock.7'), JSON.stringify({ pid: process.pid, startTime: '1', bootId: 'another' }));
    const old = join(runner, 'sessions', 'box', 's-old');
    mkdirSync(old, { recursive: true });
    mkdirSync(join(runner, 'trash', 'gone~1'));
    const marked = spawn('sleep', ['60'], { env: { SANDBOX_DIRECTORY: join(root, 'box') }, detached: true });
    const recorded = spawn('sleep', ['60'], { env: {}, detached: true });
    const startTime = readFileSync(`/proc/${recorded.pid}/stat`, 'latin1').split(' ')[21]!;
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    writeFileSync(join(old, 'process.json'), JSON.stringify({ pid: recorded.pid, startTime, bootId }));
    const bystander = spawn('sleep', ['60'], { env: {}, detached: true });
    mkdirSync(join(runner, 'sessions', 'box', 's-recycled'));
    writeFileSync(
      join(runner, 'sessions', 'box', 's-recycled', 'process.json'),
      JSON.stringify({ pid: bystander.pid, startTime: '1', bootId }),
    );
    keeper = await LocalKeeper.open({ root });
    await until(() => marked.signalCode !== null && recorded.signalCode !== null);
    expect([marked.signalCode, recorded.signalCode, bystander.signalCode]).toEqual(['SIGTERM', 'SIGTERM', null]);
    bystander.kill();
    expect(readdirSync(join(runner, 'sessions'))).toEqual([]);
    expect(readdirSync(join(runner, 'trash'))).toEqual([]);
    const lost = { code: 'unavailable', detail: 'session_lost', effect: 'none' };
    await expect(keeper.journal('box', 's-old')).rejects.toMatchObject(lost);
    await expect(keeper.write('box', 's-old', 'next', Buffer.of(1))).rejects.toMatchObject(lost);
    await expect(keeper.stop('box', 's-old', { graceMs: 0 })).rejects.toMatchObject(lost);
    await expect(keeper.journal('box', 's-new')).rejects.toMatchObject({ code: 'not_found' });
    await expect(keeper.journal('other', 's-old')).rejects.toMatchObject({ code: 'not_found' });
    await keeper.destroy('box');
    await expect(keeper.journal('box', 's-old')).rejects.toMatchObject({ code: 'not_found' });
  });
});

/** A small file system of its own, where the machine lets us have one. */
function mountTmpfs(path: string, options: string): boolean {
  try {
    mkdirSync(path, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const probe = mkdtempSync(join(tmpdir(), 'mount-'));
const canMount = mountTmpfs(probe, 'size=1m');
if (canMount) execFileSync('umount', [probe]);
rmSync(probe, { recursive: true });

(canMount ? describe : describe.skip)('a full disk', () => {
  beforeEach(async () => {
    await keeper.close();
    mountTmpfs(root, 'size=8m,nr_inodes=2000');
    keeper = await LocalKeeper.open({ root });
    await keeper.create('box');
  });

  afterEach(async () => {
    await keeper.close();
    execFileSync('umount', [root]);
  });

  test('ends the session whose journal cannot grow, and no other', async () => {
    const other = await start('read line; echo $line', { stdin: true });
    const id = await start('head -c 50000000 /dev/zero; sleep 60');
    await ended(id);
    expect((await keeper.journal('box', id)).ended).toEqual({ lost: 'disk_full' });
    await expect(keeper.writeFile('box', 'f', Buffer.alloc(1 << 20))).rejects.toMatchObject({
      code: 'write_failed',
      detail: 'disk_full',
    });
    await until(() => processesWith(`SANDBOX_SESSION=${id}`).length === 0);
    await keeper.forget('box', id);
    await until(() => !existsSync(join(root, '.runner', 'sessions', 'box', id)));
    await keeper.write('box', other, 'next', Buffer.from('alive\n'));
    expect(String((await outcome(other)).stdout)).toBe('alive\n');
    expect(String((await sh('echo again')).stdout)).toBe('again\n');
    expect(readdirSync(join(root, 'box'))).toEqual([]);
  });

  test('refuses starts and sandboxes when there are no inodes, and recovers', async () => {
    let files = 0;
    const fill = () => {
      for (;;) writeFileSync(join(root, 'box', `f${files++}`), '');
    };
    expect(fill).toThrow('ENOSPC');
    await expect(keeper.create('more')).rejects.toMatchObject({ code: 'write_failed', detail: 'disk_full' });
    const pipes = join(root, '.runner', 'tmp');
    const before = readdirSync(pipes);
    await expect(start('true')).rejects.toMatchObject({ code: 'unavailable', detail: 'disk_full', effect: 'none' });
    // It gave back its pipes, and perhaps those that were made for it in advance: that goes on after it has failed.
    await until(() => processesWith(`${pipes}/`, 'cmdline').length === 0);
    await until(() => readdirSync(pipes).every((name) => before.includes(name)));
    expect(fill).toThrow('ENOSPC');
    await expect(keeper.suspend('box')).rejects.toMatchObject({
      code: 'unavailable',
      detail: 'disk_full',
      effect: 'done',
    });
    for (const name of readdirSync(join(root, 'box'))) rmSync(join(root, 'box', name));
    await keeper.create('more');
    expect((await sh('exit 4')).end).toEqual({ exit: { exitCode: 4 } });
  });
});

function manyVariables(): [string, string][] {
  return Array.from({ length: 60 }, (_, i) => [`V${i}`, 'x'.repeat(50_000)]);
}
