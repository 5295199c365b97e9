import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { access, mkdir, open, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { allGone } from '../support/processes.js';
import { tempDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';
import { newNonce, processTag } from '../../src/adapters/common/session-id.js';
import type { ShimCommand } from '../../src/adapters/common/shim.js';
import { readText } from '../../src/adapters/common/text-records.js';
import { between, enclosed, wordsIn } from '../../src/adapters/daytona/daytona.execute.js';
import {
  PIECES,
  cleanProgram,
  inHex,
  listProgram,
  pollProgram,
  startProgram,
  stopProgram,
} from '../../src/adapters/daytona/daytona.programs.js';
import { placeProgram } from '../../src/adapters/daytona/daytona.place-program.js';
import {
  awaitProgram,
  claimProgram,
  closeProgram,
  writeProgram,
} from '../../src/adapters/daytona/daytona.stdin-programs.js';

const SHELLS = ['dash', 'bash', 'busybox'] as const;
/** What the shells of the service may be; which reads a program must make no difference. */
const OUTER: Readonly<Record<(typeof SHELLS)[number], string>> = { dash: 'bash', bash: 'dash', busybox: 'busybox' };

const isInstalled = (shell: string): boolean =>
  spawnSync(shell, shell === 'busybox' ? ['true'] : ['-c', 'true']).status === 0;
const pathOf = (program: string): string =>
  spawnSync('sh', ['-c', `command -v ${program}`])
    .stdout.toString()
    .trim();

/** What the programs need of a sandbox. */
const NEEDED: readonly string[] = [
  'cat',
  'setsid',
  'head',
  'tail',
  'od',
  'mkdir',
  'mkfifo',
  'date',
  'rm',
  'mv',
  'ls',
  'sleep',
  'grep',
  'env',
  'stat',
];

interface Started {
  readonly nonce: string;
  readonly pid: string;
  readonly owner: string;
  readonly text: string;
}

describe.each(SHELLS.filter(isInstalled))('the programs of the Daytona adapter under %s', (shell) => {
  let temp: Awaited<ReturnType<typeof tempDir>>;
  let home: string;
  let bin: string;

  beforeAll(async () => {
    temp = await tempDir('daytona-programs');
    bin = join(temp.path, 'bin');
    await mkdir(bin);
    await symlink(pathOf(shell), join(bin, 'sh'));
  });
  beforeEach(async () => {
    home = join(temp.path, newNonce());
    await mkdir(home);
  });
  afterAll(() => temp.remove());

  /** As the service runs a command: its text on the stdin of some shell, both outputs in one. */
  const run = async (program: string, path = `${bin}:${process.env['PATH']}`): Promise<string> => {
    const args = OUTER[shell] === 'busybox' ? ['sh'] : [];
    const child = spawn(pathOf(OUTER[shell]), args, { env: { PATH: path, HOME: home }, cwd: home });
    const pieces: Buffer[] = [];
    child.stdout.on('data', (data: Buffer) => pieces.push(data));
    child.stderr.on('data', (data: Buffer) => pieces.push(data));
    child.stdin.end(`${enclosed(program)}\n`);
    await new Promise((resolve) => child.once('close', resolve));
    return between(Buffer.concat(pieces).toString());
  };

  const start = async (
    command: Partial<ShimCommand> & Pick<ShimCommand, 'cmd'>,
    { holdSeconds, path }: { holdSeconds?: number; path?: string } = {},
  ): Promise<Started> => {
    const [nonce, owner] = [newNonce(), newNonce()];
    const whole = { nonce, args: [], env: [], stdin: false, detachable: true, ...command };
    const spec = { command: whole, tag: processTag('d', nonce), title: `${whole.cmd} …`, owner, rubbish: [] };
    const text = await run(startProgram({ ...spec, ...(holdSeconds !== undefined && { holdSeconds }) }), path);
    return { nonce, owner, pid: wordsIn(text)[1] ?? '', text };
  };

  const sh = (script: string, ...args: string[]): { cmd: string; args: string[] } => ({
    cmd: 'sh',
    args: ['-c', script, 'sh', ...args],
  });

  const poll = ({ nonce, pid }: Started, from = {}): Promise<string> =>
    run(pollProgram(nonce, pid, { stdout: 0, stderr: 0, credits: 2, takeOver: false, holdSeconds: 5, ...from }));

  /** What lines hold. */
  const read = (text: string): { stdout: Buffer; stderr: Buffer; words: string[] } => {
    const pieces = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
    const words: string[] = [];
    readText(text, (record) => {
      if (record.type === 'output') pieces[record.stream].push(record.data);
      else if (record.type === 'word') words.push([record.word, ...record.values].join(' '));
    });
    return { stdout: Buffer.concat(pieces.stdout), stderr: Buffer.concat(pieces.stderr), words };
  };

  const untilExit = async (started: Started): Promise<ReturnType<typeof read>> => {
    const all = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), words: [] as string[] };
    while (!all.words.some((word) => word.startsWith('x ') || word === 'l' || word === 'n')) {
      const at = { stdout: all.stdout.length, stderr: all.stderr.length };
      const { stdout, stderr, words } = read(await poll(started, at));
      Object.assign(all, { stdout: Buffer.concat([all.stdout, stdout]), stderr: Buffer.concat([all.stderr, stderr]) });
      all.words.push(...words);
    }
    return all;
  };

  const word = async (program: string): Promise<string> => wordsIn(await run(program)).join(' ');

  test('start a command, and tell its output at once where they are to wait for it', async () => {
    const started = await start(sh('printf "a\\000\\377"; echo err >&2; exit 7'), { holdSeconds: 10 });
    // Which of the two streams is there first is nobody's promise.
    const first = read(started.text);
    expect(first.stdout.length + first.stderr.length).toBeGreaterThan(0);
    expect([97, 0, 255].slice(0, first.stdout.length)).toEqual([...first.stdout]);
    expect(first.words.slice(0, 2)).toEqual([`r ${started.pid} 0`, 'f 0 0 0']);
    const { stdout, stderr, words } = await untilExit(started);
    expect([stdout, stderr.toString(), words.at(-1)]).toEqual([Buffer.from([97, 0, 255]), 'err\n', 'x 7 3 4 -']);
  });

  test('start a command that lives on, and do not wait for it', async () => {
    const started = await start(sh('echo one; sleep 0.3; echo two; exit 3'));
    expect(started.text).toBe(`@r ${started.pid} 0\n`);
    const { stdout, words } = await untilExit(started);
    expect([stdout.toString(), words.at(-1)]).toEqual(['one\ntwo\n', 'x 3 8 0 -']);
  });

  describe('where there is no base64', () => {
    let bare: string;
    beforeEach(async () => {
      bare = join(temp.path, newNonce());
      await mkdir(bare);
      for (const name of NEEDED) await symlink(pathOf(name), join(bare, name));
      await symlink(pathOf(shell), join(bare, 'sh'));
    });

    test('print bytes too', async () => {
      const started = await start(sh('printf "a\\000\\377\\n"'), { holdSeconds: 10, path: bare });
      expect(started.text).toContain(' 61 00 ff 0a\n');
      expect(read(started.text).stdout).toEqual(Buffer.from([97, 0, 255, 10]));
    });

    test('print no more at once than an answer may hold', async () => {
      const bytes = randomBytes(1024 * 1024);
      await writeFile(join(home, 'bytes'), bytes);
      const started = await start(sh('cat bytes'), { path: bare });
      const journal = join(home, '.nestjs-sandbox/sessions', started.nonce);
      await until('it has ended', async () => (await readdir(journal)).includes('exit'));
      const from = { stdout: 0, stderr: 0, credits: 1, takeOver: false, holdSeconds: 0 };
      const text = await run(pollProgram(started.nonce, started.pid, from), bare);
      expect(Buffer.byteLength(JSON.stringify(text)) * PIECES).toBeLessThan(8 * 1024 * 1024);
      const { stdout, words } = read(text);
      expect([stdout.length, words]).toEqual([524_288, ['f 0 0 0', 'p']]);
      expect(stdout.equals(bytes.subarray(0, 524_288))).toBe(true);
    });
  });

  test('wait for output no longer than they are told', async () => {
    const started = await start(sh('sleep 30'));
    const before = Date.now();
    expect(await poll(started, { holdSeconds: 0 })).toBe('@f 0 0 0\n@p\n');
    expect(await poll(started, { holdSeconds: 1 })).toBe('@f 0 0 0\n@p\n');
    expect(Date.now() - before).toBeLessThan(6_000);
    await run(stopProgram({ ...started, graceMs: 0 }));
  });

  test('give of a large output as much as there is credit for', async () => {
    const started = await start(sh('head -c 2500000 /dev/zero | tr "\\000" x'));
    const { stdout, words } = await untilExit(started);
    expect(stdout.equals(Buffer.alloc(2_500_000, 'x'))).toBe(true);
    expect(words.filter((one) => one === 'p').length).toBeGreaterThan(0);
  });

  test('leave a command open to INT', async () => {
    const started = await start(sh('kill -s INT $$; sleep 60'));
    expect((await untilExit(started)).words.at(-1)).toMatch(/^x 130 /);
  });

  test('say why a command does not start, and leave nothing of it', async () => {
    expect((await start({ cmd: 'true', dir: 'no/such' })).text).toBe('@d\n');
    expect(await readdir(join(home, '.nestjs-sandbox', 'sessions'))).toEqual([]);
    const missing = await start({ cmd: 'no-such-program' }, { holdSeconds: 5 });
    expect(read(missing.text).words.at(-1)).toBe('x 127 0 0 s');
  });

  test('carry stdin in any pieces, then its end', async () => {
    const started = await start({ cmd: 'cat', stdin: true });
    const small = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    expect(await word(writeProgram(started, newNonce(), { bytes: small }, 5))).toBe('k');
    const large = Buffer.alloc(300_000, 'y');
    await writeFile(join(home, 'staged'), large);
    expect(await word(writeProgram(started, newNonce(), { uploaded: 'staged' }, 5))).toBe('k');
    expect(await word(closeProgram(started))).toBe('k');
    const { stdout, words } = await untilExit(started);
    expect(stdout.equals(Buffer.concat([small, large]))).toBe(true);
    expect(words.at(-1)).toBe('x 0 300256 0 -');
  });

  test('end a stdin to which nothing was written', async () => {
    const started = await start({ cmd: 'cat', stdin: true });
    expect(await word(closeProgram(started))).toBe('k');
    expect((await untilExit(started)).words.at(-1)).toBe('x 0 0 0 -');
    expect(await word(closeProgram(started))).toBe('x');
    expect(await word(writeProgram(started, newNonce(), { bytes: Buffer.from('x') }, 1))).toBe('x');
  });

  test('answer a write once the command took it', async () => {
    const started = await start({ ...sh('sleep 30'), stdin: true });
    await writeFile(join(home, 'staged'), Buffer.alloc(200_000));
    const token = newNonce();
    expect(await word(writeProgram(started, token, { uploaded: 'staged' }, 0))).toBe('w');
    expect(await word(awaitProgram(started, token, 0))).toBe('w');
    await run(stopProgram({ ...started, graceMs: 0 }));
    // It may have been taken before the command ended.
    expect(await word(awaitProgram(started, token, 0))).toBe('q');
  });

  test('answer a write that ended the command, however late what feeds it gets to say so', async () => {
    const late = join(home, 'late');
    await mkdir(late);
    // What feeds it removes what was taken, then says so.
    const once = 'case $2 in */in.*) until [ -e "${2%/in.*}/exit" ]; do sleep 0.01; done ;; esac';
    await writeFile(join(late, 'rm'), `#!/bin/sh\n${once}\nexec '${pathOf('rm')}' "$@"\n`, { mode: 0o755 });
    const path = `${late}:${bin}:${process.env['PATH']}`;
    const started = await start({ ...sh('read -r line; exit 3'), stdin: true }, { path });
    await writeFile(join(home, 'staged'), 'line\n');
    expect(await word(writeProgram(started, newNonce(), { uploaded: 'staged' }, 5))).toBe('k');
    expect((await untilExit(started)).words.at(-1)).toBe('x 3 0 0 -');
  });

  describe('once its command has ended', () => {
    /** A `sh` under which the shim tells whom it kills at once, and each of its waits in seconds. */
    const telling = async (): Promise<{ path: string; told: (what: 'killed' | 'slept') => Promise<string[]> }> => {
      const dir = join(home, 'telling');
      await mkdir(dir);
      const kill = `kill() { [ "$1" != -KILL ] || echo "$2" >>'${dir}/killed'; command kill "$@"; }`;
      const sleep = `sleep() { echo "$1" >>'${dir}/slept'; command sleep "$1"; }`;
      // What starts the shim takes these two in place of its own; any other shell has nothing of them.
      const isShim = `case $2 in 'eval "$(cat)"') exec '${bin}/sh' -c ". '${dir}/functions'; $2" "$3" ;; esac`;
      await writeFile(join(dir, 'functions'), `${kill}\n${sleep}\n`);
      const script = `#!${bin}/sh\n${isShim}\nexec '${bin}/sh' "$@"\n`;
      await writeFile(join(dir, 'sh'), script, { mode: 0o755 });
      return {
        path: `${dir}:${bin}:${process.env['PATH']}`,
        told: async (what) => (await readFile(join(dir, what), 'utf8').catch(() => '')).split('\n').filter(Boolean),
      };
    };

    test('kill nothing for what fed its stdin, which has ended by itself', async () => {
      const { path, told } = await telling();
      const started = await start({ cmd: 'cat', stdin: true }, { path });
      expect(await word(closeProgram(started))).toBe('k');
      expect((await untilExit(started)).words.at(-1)).toBe('x 0 0 0 -');
      await allGone(started.nonce);
      expect(await told('killed')).toEqual([]);
    });

    test('do not wait for what feeds its stdin where its journal is gone, and end it', async () => {
      const { path, told } = await telling();
      const started = await start({ ...sh('echo up; read -r line'), stdin: true }, { path });
      await until('it is up', async () => read(await poll(started)).stdout.length === 3);
      const journal = join(home, '.nestjs-sandbox', 'sessions', started.nonce);
      const stdin = await open(join(journal, 'i'), 'r+');
      await rm(journal, { recursive: true });
      await stdin.write('\n');
      await stdin.close();
      await allGone(started.nonce);
      expect((await told('slept')).filter((seconds) => seconds === '0.02')).toEqual([]);
      expect(await told('killed')).toHaveLength(1);
    });
  });

  test('tell a stdin that was closed by the command from one that is not owned', async () => {
    const started = await start({ ...sh('exec </dev/null; echo ready; exec sleep 30'), stdin: true });
    await until('it has closed it', async () => read(await poll(started)).stdout.length === 6);
    expect(await word(writeProgram(started, newNonce(), { bytes: Buffer.from('x') }, 5))).toBe('b');
    const other = { nonce: started.nonce, owner: newNonce() };
    expect(await word(claimProgram(other))).toBe('k');
    expect(await word(closeProgram(started))).toBe('o');
    expect(await word(closeProgram(other))).toBe('k');
    expect(await word(writeProgram(other, newNonce(), { bytes: Buffer.from('x') }, 1))).toBe('e');
    await run(stopProgram({ ...started, graceMs: 0 }));
  });

  test('say that a stdin was never opened, and that there is no session', async () => {
    const started = await start(sh('sleep 30'));
    expect(await word(claimProgram(started))).toBe('c');
    expect(await word(claimProgram({ nonce: newNonce(), owner: newNonce() }))).toBe('n');
    expect(await poll({ ...started, nonce: newNonce() })).toBe('@n\n');
    expect(await poll({ ...started, pid: '1' })).toBe('@n\n');
    expect(await word(stopProgram({ nonce: started.nonce, pid: '1', graceMs: 0 }))).toBe('n');
    expect(await word(stopProgram({ ...started, graceMs: 0 }))).toBe('g');
  });

  test('stop a whole group, gently or not, and record how it went', async () => {
    const family = sh(
      'trap "" TERM; (trap "" TERM; while :; do sleep 0.1; done) & echo up; while :; do sleep 0.1; done',
    );
    const deaf = await start(family);
    await until('it is up', async () => read(await poll(deaf)).stdout.length === 3);
    expect(await word(stopProgram({ ...deaf, graceMs: 200 }))).toBe('g');
    expect((await untilExit(deaf)).words.at(-1)).toBe('x 137 3 0 k');
    const gentle = await start(sh('trap "exit 6" TERM; echo up; while :; do sleep 0.05; done'));
    await until('it is up', async () => read(await poll(gentle)).stdout.length === 3);
    expect(await word(stopProgram({ ...gentle, graceMs: 10_000 }))).toBe('g');
    expect((await untilExit(gentle)).words.at(-1)).toMatch(/^x 6 /);
  });

  test('list what runs and is detachable, with its title and since when', async () => {
    const listed = await start(sh('sleep 30'));
    const plain = await start({ ...sh('sleep 30'), detachable: false });
    const ended = await start(sh('true'));
    await untilExit(ended);
    const text = await run(listProgram());
    const [, since] = /^@s \d+ [0-9a-f]{32} 0 (\d+) ([0-9a-f]+)\n$/.exec(text) ?? [];
    expect(text).toBe(`@s ${listed.pid} ${listed.nonce} 0 ${since} ${inHex('sh …')}\n`);
    expect(Math.abs(Number(since) * 1000 - Date.now())).toBeLessThan(60_000);
    for (const one of [listed, plain]) await run(stopProgram({ ...one, graceMs: 0 }));
    expect(await run(listProgram())).toBe('');
  });

  test('keep variables out of every command line', async () => {
    const started = await start({ ...sh('sleep 30'), env: [['SECRET', 'hunter2']] });
    const table = spawnSync('ps', ['-A', '-o', 'args=']).stdout.toString();
    expect(table).toContain(started.nonce);
    expect(table.split('\n').filter((line) => line.includes('hunter2') && line.includes('sh -c eval'))).toEqual([]);
    await run(stopProgram({ ...started, graceMs: 0 }));
  });

  test('remove journals that nobody needs', async () => {
    const started = await start({ ...sh('true'), detachable: false });
    await untilExit(started);
    await run(cleanProgram([`runs/${started.nonce}`]));
    expect(await poll(started)).toBe('@n\n');
  });

  test.each<[string, string, string]>([
    ['a new name', '~/a b/new\nline', 'k'],
    ['a file', '~/file', 'k'],
    ['a link', '~/link', 'k'],
    ['a directory', '~/directory', 'd'],
    ['a name below a file', '~/file/below', 'p'],
  ])('put a file to %s', async (_, target, expected) => {
    await mkdir(join(home, 'directory'));
    await writeFile(join(home, 'file'), 'old', { mode: 0o640 });
    await writeFile(join(home, 'real'), 'old');
    await symlink('real', join(home, 'link'));
    await writeFile(join(home, 'staged'), 'new');
    expect(await word(placeProgram({ staged: 'staged', target, bytes: 3 }))).toBe(expected);
    const isThere = await readFile(join(home, target.slice(2)), 'utf8').then(
      (content) => content === 'new',
      () => false,
    );
    expect(isThere).toBe(expected === 'k');
    expect(await readFile(join(home, 'file'), 'utf8')).toBe(target === '~/file' ? 'new' : 'old');
    expect(await readFile(join(home, 'real'), 'utf8')).toBe(target === '~/link' ? 'new' : 'old');
    await expect(access(join(home, 'staged'))).rejects.toThrow('ENOENT');
    expect((await readdir(home)).filter((name) => name.startsWith('.nestjs'))).toEqual([]);
  });

  test('put nothing of which a part is missing', async () => {
    await writeFile(join(home, 'file'), 'old');
    await writeFile(join(home, 'staged'), 'ne');
    expect(await word(placeProgram({ staged: 'staged', target: '~/file', bytes: 3 }))).toBe('f');
    expect(await readFile(join(home, 'file'), 'utf8')).toBe('old');
  });
});

describe('the result of a program', () => {
  test.each(['', '@begin', 'noise', '@begin\nhalf a wo', '@end'])('is refused unless it is whole: %p', (text) => {
    expect(() => between(text)).toThrow('did not come to its end');
  });

  test('is what stands between its marks, whatever a shell said before', () => {
    expect(between('motd\n@begin\n@k\n@end\n')).toBe('@k\n');
    expect(between('@begin\n@end')).toBe('');
  });
});
