import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processTable, DIRECTORY_MARKER } from '#libs/process';
import type { Exit } from '#libs/contract/core';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { EmulatedProcess, ProcessSpec } from './emulated-process.js';
import { EmulatorRoot } from './emulator-root.js';

interface Run {
  readonly process: EmulatedProcess;
  readonly text: (stream: 'stdout' | 'stderr') => string;
  readonly ended: Promise<Exit>;
}

let root: EmulatorRoot;

beforeEach(async () => {
  root = await EmulatorRoot.open();
});

afterEach(async () => await root.close());

async function run(script: string, more: Partial<ProcessSpec> = {}): Promise<Run> {
  const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  let end: (exit: Exit) => void = () => {};
  const ended = new Promise<Exit>((resolve) => (end = resolve));
  const spec = { cmd: 'sh', args: ['-c', script], directory: root.directory, env: { PATH: process.env['PATH'] } };
  const started = await root.processes.start(
    root.directory,
    { ...spec, ...more },
    { output: (stream, data) => chunks[stream].push(data), ended: end },
  );
  if ('failed' in started) throw new Error(JSON.stringify(started));
  return { process: started, text: (stream) => Buffer.concat(chunks[stream]).toString(), ended };
}

describe('a process on pipes', () => {
  test('tells its output exactly and then how it ended', async () => {
    const { text, ended } = await run('printf out; printf err >&2; exit 7');
    expect(await ended).toEqual({ exitCode: 7 });
    expect([text('stdout'), text('stderr')]).toEqual(['out', 'err']);
  });

  test('can open its outputs by name, as on a real machine', async () => {
    const { text, ended } = await run('echo a >/dev/stdout; echo b | tee /dev/stderr >/dev/null');
    expect(await ended).toEqual({ exitCode: 0 });
    expect([text('stdout'), text('stderr')]).toEqual(['a\n', 'b\n']);
  });

  test('has only the environment that it was given', async () => {
    const { text, ended } = await run('env', { cmd: '/usr/bin/env', args: [], env: { A: '1' } });
    await ended;
    expect(
      text('stdout')
        .split('\n')
        .filter((line) => !line.startsWith('SANDBOX_')),
    ).toEqual(['A=1', '']);
  });

  test('reads its stdin to the end', async () => {
    const { process: child, text, ended } = await run('cat', { stdin: true });
    await child.write(Buffer.from('one '));
    await child.write(Buffer.from('two'));
    await child.closeStdin();
    expect([await ended, text('stdout')]).toEqual([{ exitCode: 0 }, 'one two']);
  });

  test('blocks while it is paused and loses nothing', async () => {
    const { process: child, text, ended } = await run('head -c 3000000 /dev/zero; echo end');
    child.pause();
    const first = await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 200, 'blocked'))]);
    expect(first).toBe('blocked');
    child.resume();
    expect(await ended).toEqual({ exitCode: 0 });
    expect(text('stdout').length).toBe(3_000_004);
  });

  test('a program that is not there is a result', async () => {
    const spec = { cmd: 'no-such-program', args: [], directory: root.directory, env: { PATH: '/usr/bin' } };
    const started = await root.processes.start(root.directory, spec, { output: () => {}, ended: () => {} });
    expect(started).toEqual({ failed: { exitCode: 127, startError: 'no-such-program: not found' } });
  });

  test('a signal ends its whole group', async () => {
    const { process: child, ended } = await run('sleep 100 & sleep 100; wait');
    child.signal('SIGTERM');
    expect(await ended).toEqual({ exitCode: 143, signal: 'SIGTERM' });
  });

  test('a signal to the leader alone leaves its children', async () => {
    const { process: child, text, ended } = await run('sleep 100 & echo $!; wait');
    while (!text('stdout').includes('\n')) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(child.signalLeader('SIGTERM')).toBe(true);
    expect(await ended).toEqual({ exitCode: 143, signal: 'SIGTERM' });
    const left = (await processTable()).find(({ pid }) => pid === Number(text('stdout')));
    expect([left?.zombie, child.signalLeader('SIGTERM')]).toEqual([false, false]);
  });

  test('without a group of its own setsid keeps its pid', async () => {
    const more = { cmd: 'setsid', args: ['sh', '-c', 'echo $$'], ownGroup: false };
    const { process: child, text, ended } = await run('', more);
    expect(await ended).toEqual({ exitCode: 0 });
    expect(Number(text('stdout'))).toBe(child.pid);
  });

  test('where its output ends with its pipes, a background process holds it up until it is hurried', async () => {
    const { process: child, ended } = await run('sleep 100 & exit 3', { outputEnd: 'eof' });
    await child.leaderExit;
    const early = await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 1_500, 'open'))]);
    child.hurry();
    expect([early, await ended]).toEqual(['open', { exitCode: 3 }]);
  });

  test('tells whether its stdin took the bytes', async () => {
    const { process: child } = await run('read -r line; exec sleep 100', { stdin: true });
    expect(await child.tryWrite(Buffer.from('go\n'))).toBe(true);
    await child.closeStdin();
    expect(await child.tryWrite(Buffer.from('more'))).toBe(false);
  });
});

describe('a process on a terminal', () => {
  const terminal = { cols: 132, rows: 50 };

  test('sees the size it was given and the one it is given later', async () => {
    const { process: child, text, ended } = await run('stty size; read -r line; stty size; exit 3', { terminal });
    while (!text('stdout').includes('50 132')) await new Promise((resolve) => setTimeout(resolve, 5));
    child.resize(100, 40);
    await child.write(Buffer.from('go\n'));
    expect(await ended).toEqual({ exitCode: 3 });
    expect(text('stdout')).toBe('50 132\r\ngo\r\n40 100\r\n');
  });

  test('loses nothing of what a short command prints last', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { text, ended } = await run('seq 1 3000', { terminal });
      expect(await ended).toEqual({ exitCode: 0 });
      expect(text('stdout').split('\r\n').slice(-2)).toEqual(['3000', '']);
    }
  });

  test('tells a death by signal', async () => {
    const { process: child, ended } = await run('echo up; sleep 100', { terminal });
    child.signal('SIGKILL');
    expect(await ended).toEqual({ exitCode: 137, signal: 'SIGKILL' });
  });

  test('ends although it was paused', async () => {
    const { process: child, text, ended } = await run('sleep 0.1; echo end', { terminal });
    child.pause();
    expect(await ended).toEqual({ exitCode: 0 });
    expect(text('stdout')).toBe('end\r\n');
  });
});

describe('the end of an emulator', () => {
  test('nothing is left of processes that detached themselves, nor of the directory', async () => {
    await run('setsid sleep 300 & nohup sleep 300 >/dev/null 2>&1 & sleep 300');
    await run('sleep 300', { terminal: { cols: 80, rows: 24 } });
    const { directory } = root;
    await Promise.all([root.close(), root.close()]);
    const left = (await processTable()).filter(
      ({ directoryMarker, zombie }) => directoryMarker === directory && !zombie,
    );
    expect([left, existsSync(directory)]).toEqual([[], false]);
    expect(DIRECTORY_MARKER).toBe('SANDBOX_DIRECTORY');
  });

  test('what is being started when all of a sandbox is ended is ended with it', async () => {
    const { PATH } = process.env;
    const sleeping = { cmd: 'sleep', args: ['300'], directory: root.directory, env: { PATH }, stdin: true };
    const gate = mkdtempSync(join(tmpdir(), 'gate-'));
    writeFileSync(
      join(gate, 'mkfifo'),
      '#!/bin/sh\nwhile [ ! -e "${0%/*}/open" ]; do sleep 0.01; done\nPATH=${PATH#*:} exec mkfifo "$@"\n',
      {
        mode: 0o755,
      },
    );
    process.env['PATH'] = `${gate}:${PATH}`;
    try {
      // The pool has 128 pipes, of which a process with stdin takes three.
      const others = Array.from({ length: 42 }, () => run('true', { stdin: true }));
      const starting = root.processes.start('its sandbox', sleeping, { output: () => {}, ended: () => {} });
      const stopped = root.processes.stopAll('its sandbox');
      await root.processes.stopAll('another sandbox');
      writeFileSync(join(gate, 'open'), '');
      expect(await stopped).toBe(true);
      expect(await starting).toMatchObject({ exit: { exitCode: 137, signal: 'SIGKILL' } });
      await Promise.all(others);
    } finally {
      process.env['PATH'] = PATH;
      rmSync(gate, { recursive: true });
    }
  });

  test('names of pipes do not pile up', async () => {
    const { ended } = await run('true');
    await ended;
    const names = readdirSync(`${root.directory}/p`);
    expect(names.every((name) => name.startsWith('fifo-'))).toBe(true);
  });
});
