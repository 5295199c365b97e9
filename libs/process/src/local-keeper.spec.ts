import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JournalReader, LocalKeeper, type SessionEnd, type SessionSpec } from './index.js';

let root: string;
let keeper: LocalKeeper;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'keeper-'));
  keeper = await LocalKeeper.open({ root });
  await keeper.create('box');
});

afterEach(async () => {
  await keeper.close();
  rmSync(root, { recursive: true, force: true });
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

  test('can open /dev/stdout', async () => {
    const { stdout } = await sh('echo x >/dev/stdout; echo y | tee /dev/stderr');
    expect(String(stdout)).toBe('x\ny\n');
  });

  test('ends although a background process holds its output', async () => {
    const { stdout, end } = await sh('sleep 60 & echo hi');
    expect([String(stdout), end]).toEqual(['hi\n', { exit: { exitCode: 0 } }]);
  });

  test.each([
    ['KILL', 137],
    ['TERM', 143],
    ['SEGV', 139],
    ['INT', 130],
  ])('killed by %s exits %i', async (signal, exitCode) => {
    const { end } = await sh(`kill -${signal} $$`);
    expect(end).toEqual({ exit: { exitCode, signal: `SIG${signal}` } });
  });

  test('is not found', async () => {
    expect((await run('no-such-cmd', [])).end).toEqual({
      exit: { exitCode: 127, startError: 'no-such-cmd: not found' },
    });
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

  test('runs 2 000 times, 50 at a time', async () => {
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
  });
});

test('destroy removes the directory and everything that runs', async () => {
  const { id } = await keeper.start({ sandbox: 'box', cmd: 'sh', args: ['-c', 'setsid sleep 60 & sleep 60'], env: [] });
  await keeper.destroy('box');
  expect(existsSync(join(root, 'box'))).toBe(false);
  await expect(keeper.journal('box', id)).rejects.toMatchObject({ code: 'not_found' });
  await expect(keeper.get('box')).rejects.toMatchObject({ code: 'not_found' });
});
