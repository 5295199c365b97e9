import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Exit, SandboxHandle } from '#libs/contract';
import { collect } from '../support/collect.js';
import type { TestApp } from '../support/nest-app.js';
import { RunnerSandbox } from '../support/runner-sandbox.js';
import { settles, until } from '../support/until.js';

const run = promisify(execFile);

let runner: RunnerSandbox;
let app: TestApp;
let handle: SandboxHandle;
let home: string;

beforeAll(async () => {
  runner = await RunnerSandbox.start();
  ({ app, handle } = runner);
  home = await app.sandboxes.hostPath(handle, '~');
});

afterAll(async () => {
  await runner?.[Symbol.asyncDispose]();
});

/**
 * Leaves a child behind that writes to both streams without end. Asked through a FIFO, it says how many lines it had
 * written by then; a write that failed would have ended it before.
 */
function chatty(name: string): string {
  const loop = [
    `exec 9<>${name}; i=0; while :; do i=$((i+1)); echo line $i; echo line $i >&2`,
    `if read -r -t 0 -u 9; then read -r -u 9 x; echo $i >${name}-part; mv ${name}-part ${name}-answer; fi; done`,
  ].join('; ');
  return `mkfifo ${name}; bash -c 'trap "touch ${name}-broken" PIPE; ${loop}' & echo started; exit 6`;
}

async function ask(name: string): Promise<number> {
  const fifo = await open(join(home, name), 'r+');
  await fifo.write('?\n');
  await fifo.close();
  const path = join(home, `${name}-answer`);
  const text = await until(`${name} answers`, async () => existsSync(path) && (await readFile(path, 'utf8')));
  await rm(path);
  return Number(text);
}

async function pidOf(name: string): Promise<number[]> {
  const { stdout } = await run('pgrep', ['-f', `touch ${name}-broken`]).catch(() => ({ stdout: '' }));
  return stdout.split('\n').filter(Boolean).map(Number);
}

const WAYS: Record<'exec' | 'spawn', (script: string) => Promise<{ exit: Exit | undefined; text: string }>> = {
  exec: async (script: string) => {
    const result = await app.sandboxes.exec(handle, 'bash', ['-c', script]);
    return { exit: { exitCode: result.exitCode }, text: result.text() };
  },
  spawn: async (script: string) => {
    const seen = await collect(await app.sandboxes.spawn(handle, 'bash', ['-c', script]));
    return { exit: seen.exit, text: seen.stdout.toString() };
  },
};

test.each(['exec', 'spawn'] as const)(
  'a chatty background child does not hold up the exit of its leader, and goes on writing: %s',
  async (how) => {
    const name = `chatty-${how}`;
    const started = performance.now();
    const { exit, text } = await settles(how, WAYS[how](chatty(name)), 5_000);
    expect([exit, text.includes('started\n')]).toEqual([{ exitCode: 6 }, true]);
    expect(performance.now() - started).toBeLessThan(4_000);
    const first = await ask(name);
    // More than a pipe holds: it is still being read, though to nowhere.
    const second = await until(
      'it has written 64 KiB more',
      async () => {
        const lines = await ask(name);
        return lines - first > 8_000 && lines;
      },
      { withinMs: 60_000 },
    );
    expect(second).toBeGreaterThan(first + 8_000);
    expect(existsSync(join(home, `${name}-broken`))).toBe(false);
    const pids = await pidOf(name);
    expect(pids.length).toBeGreaterThan(0);
    for (const pid of pids) process.kill(pid, 'SIGKILL');
  },
  90_000,
);

test('its output after the exit belongs to nobody: a later attach ends where the session ended', async () => {
  const script = 'mkfifo later; (read -r x <later; echo late; touch wrote) & echo early; exit 4';
  const command = await app.sandboxes.spawn(handle, 'bash', ['-c', script], { detachable: true });
  const seen = await collect(command);
  expect([seen.stdout.toString(), seen.exit]).toEqual(['early\n', { exitCode: 4 }]);
  const fifo = await open(join(home, 'later'), 'w');
  await fifo.write('go\n');
  await fifo.close();
  await until('it wrote', () => existsSync(join(home, 'wrote')));
  const again = await collect(await app.sandboxes.attach(handle, command.sessionId as string));
  expect([again.stdout.toString(), again.exit]).toEqual(['early\n', { exitCode: 4 }]);
});
