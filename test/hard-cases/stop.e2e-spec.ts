import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chown, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { distFile } from '../support/dist.js';
import { tempDir } from '../support/temp-dir.js';
import { until } from '../support/until.js';

const isLinux = process.platform === 'linux';
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

/** A PID namespace of its own, where the machine lets us have one: its first process is then the PID 1 of the rest. */
const NAMESPACE = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'];
const hasNamespaces = isRoot && works([...NAMESPACE, 'true']);

let directory: Awaited<ReturnType<typeof tempDir>>;
let root: string;

beforeEach(async () => {
  directory = await tempDir('stop');
  root = join(directory.path, 'root');
});

afterEach(async () => directory.remove());

function works([program = '', ...args]: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** What a keeper is for a script: `keeper` with the sandbox `box` open, `root`, and what scripts need to look around. */
const PRELUDE = `
  import { spawn } from 'node:child_process';
  import { once } from 'node:events';
  import { chownSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
  import { LocalKeeper } from ${JSON.stringify(distFile('libs/process/src/index.js'))};
  const [root] = process.argv.slice(1);
  const said = [];
  const open = (limits = {}) => LocalKeeper.open({ root, limits, log: (line) => said.push(line) });
  const statOf = (pid) => {
    try {
      return readFileSync('/proc/' + pid + '/stat', 'latin1').split(') ')[1].split(' ');
    } catch {
      return ['gone'];
    }
  };
  const lives = (pid) => ['R', 'S', 'D'].includes(statOf(pid)[0]);
  const zombies = () => readdirSync('/proc').filter((pid) => /^\\d+$/.test(pid) && statOf(pid)[0] === 'Z').length;
  const until = async (probe) => {
    for (;;) {
      const value = await probe();
      if (value) return value;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const start = async (keeper, script) =>
    (await keeper.start({ sandbox: 'box', cmd: 'sh', args: ['-c', script], env: [] })).id;
  const ended = (keeper, id) => until(async () => (await keeper.journal('box', id)).ended);
  const print = (value) => console.log(JSON.stringify(value));
`;

/** Runs `script` after the prelude and gives what it printed, line by line. */
async function keeperScript(
  script: string,
  { prefix = [], uid }: { prefix?: readonly string[]; uid?: number } = {},
): Promise<unknown[]> {
  const node = [process.execPath, '--input-type=module', '-e', PRELUDE + script, root];
  const [program = '', ...args] = [...prefix, ...node];
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] },
    cwd: directory.path,
    ...(uid !== undefined && { uid, gid: uid }),
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`the script ended with ${code}: ${stderr}`);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as unknown);
}

(hasNamespaces ? describe : describe.skip)('where PID 1 reaps nothing', () => {
  /** Node reaps its own children and nobody else's, as most programs that are not meant to be an init. */
  const BESIDE_PID_1 = [
    ...NAMESPACE,
    process.execPath,
    '-e',
    'const [program, ...args] = process.argv.slice(1);' +
      "require('node:child_process').spawn(program, args, { stdio: 'inherit' }).on('exit', (code) => process.exit(code ?? 1));",
  ];

  test.each([
    ['the keeper is PID 1', true, NAMESPACE],
    ['the keeper is a child of PID 1', false, BESIDE_PID_1],
  ])('a stop is confirmed though zombies remain: %s', async (_case, isFirst, prefix) => {
    const [result] = await keeperScript(
      `
        const keeper = await open();
        await keeper.create('box');
        const id = await start(keeper, '(setsid sleep 3600 & sleep 3600 & echo up >up; exit 0); sleep 3600');
        await until(() => readdirSync(root + '/box').includes('up'));
        const stop = await keeper.stop('box', id, { graceMs: 5000 });
        const end = await ended(keeper, id);
        print({ isFirst: process.pid === 1, stop, end, left: zombies() >= 2 });
        await keeper.destroy('box');
        await keeper.close();
      `,
      { prefix },
    );
    expect(result).toEqual({
      isFirst,
      stop: { gone: true },
      end: { exit: { exitCode: 143, signal: 'SIGTERM' } },
      left: true,
    });
  });

  test('destroy and suspend are confirmed though zombies remain', async () => {
    const [result] = await keeperScript(
      `
        const keeper = await open();
        await keeper.create('box');
        const script = '(setsid sleep 3600 & sleep 3600 & echo up >up$$; exit 0); sleep 3600';
        await start(keeper, script);
        await until(() => readdirSync(root + '/box').length === 1);
        await keeper.suspend('box');
        const suspended = [(await keeper.get('box')).status, zombies() >= 2];
        await start(keeper, script);
        await until(() => readdirSync(root + '/box').length === 2);
        await keeper.destroy('box');
        print({ suspended, destroyed: [await keeper.names(), zombies() >= 4], stats: keeper.stats() });
        await keeper.close();
      `,
      { prefix: NAMESPACE },
    );
    expect(result).toEqual({
      suspended: ['suspended', true],
      destroyed: [[], true],
      stats: { running: 0, sessions: 0 },
    });
  });

  test('commands that left a zombie behind do not count as sessions that live for ever', async () => {
    const [result] = await keeperScript(
      `
        const keeper = await open({ liveSessions: 2 });
        await keeper.create('box');
        const ends = [];
        for (let i = 0; i < 4; i += 1) {
          const id = await until(() => start(keeper, 'sleep 0.1 >/dev/null 2>&1 & exit ' + i).catch(() => undefined));
          ends.push((await ended(keeper, id)).exit.exitCode);
        }
        await until(() => zombies() === 4);
        print({ ends });
        await keeper.close();
      `,
      { prefix: NAMESPACE },
    );
    expect(result).toEqual({ ends: [0, 1, 2, 3] });
  }, 60_000);
});

(hasNamespaces ? describe : describe.skip)('a pid that was given to another process', () => {
  /** The next process of the namespace gets `pid`. */
  const REUSE = `
    const reuse = async (pid) => {
      await until(() => statOf(pid)[0] === 'gone');
      writeFileSync('/proc/sys/kernel/ns_last_pid', String(pid - 1));
      const bystander = spawn('sleep', ['3600'], { detached: true, stdio: 'ignore', env: {} });
      return bystander;
    };
    const pidOf = async (keeper, name) =>
      Number(await until(() => {
        try {
          return readFileSync(root + '/box/' + name, 'utf8').trim();
        } catch {
          return '';
        }
      }));
  `;

  test('is not touched by a stop of the session that once had it', async () => {
    const [result] = await keeperScript(
      `${REUSE}
        const keeper = await open();
        await keeper.create('box');
        const id = await start(keeper, 'echo $$ >pid; exit 0');
        const pid = await pidOf(keeper, 'pid');
        await ended(keeper, id);
        const bystander = await reuse(pid);
        const stop = await keeper.stop('box', id, { graceMs: 300 });
        print({ reused: bystander.pid === pid, stop, bystander: lives(pid) });
        await keeper.destroy('box');
        print(lives(pid));
        bystander.kill('SIGKILL');
        await keeper.close();
      `,
      { prefix: NAMESPACE },
    ).then(([first, second]) => [{ ...(first as object), later: second }]);
    expect(result).toEqual({ reused: true, stop: { gone: true }, bystander: true, later: true });
  });

  test('is not touched by the daemon that finds it in a record', async () => {
    const [result] = await keeperScript(
      `${REUSE}
        const earlier = await open();
        await earlier.create('box');
        const id = await start(earlier, 'echo $$ >pid; exec env -i sleep 3600');
        const pid = await pidOf(earlier, 'pid');
        const record = root + '/.runner/sessions/box/' + id + '/process.json';
        const text = await until(() => {
          try {
            return readFileSync(record, 'utf8');
          } catch {
            return '';
          }
        });
        // As if it had been killed: the record stays, the lock belongs to nobody.
        process.kill(pid, 'SIGKILL');
        await ended(earlier, id);
        for (const name of readdirSync(root + '/.runner')) {
          if (name.startsWith('lock.')) writeFileSync(root + '/.runner/' + name, '{}');
        }
        const bystander = await reuse(pid);
        const keeper = await open();
        print({ recorded: JSON.parse(text).pid === pid, reused: bystander.pid === pid, lives: lives(pid) });
        bystander.kill('SIGKILL');
        process.exit(0);
      `,
      { prefix: NAMESPACE },
    );
    expect(result).toEqual({ recorded: true, reused: true, lives: true });
  });
});

(isLinux ? describe : describe.skip)('a record of an earlier daemon', () => {
  const bystanders: ChildProcess[] = [];

  afterEach(() => {
    for (const child of bystanders.splice(0)) child.kill('SIGKILL');
  });

  function bystander(): { pid: number; startTime: string; lives: () => boolean } {
    const child = spawn('sleep', ['3600'], { env: {}, stdio: 'ignore', detached: true });
    bystanders.push(child);
    const { pid = 0 } = child;
    const fields = () => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? [];
    return { pid, startTime: fields()[19] ?? '', lives: () => ['R', 'S', 'D'].includes(fields()[0] ?? '') };
  }

  async function forge(sessionId: string, record: object): Promise<string> {
    const session = join(root, '.runner', 'sessions', 'box', sessionId);
    await mkdir(session, { recursive: true });
    await writeFile(join(session, 'process.json'), JSON.stringify(record));
    return session;
  }

  test.each([
    ['of another boot', { bootId: '00000000-0000-4000-8000-000000000000' }],
    ['of another start', { startTime: '1' }],
    ['without a boot', { bootId: undefined }],
    ['of no process', { pid: 0 }],
    ['of all processes', { pid: -1 }],
  ])('%s ends nobody', async (_case, forged) => {
    const { pid, startTime, lives } = bystander();
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
    await forge('s-forged', { pid, startTime, bootId, ...forged });
    await keeperScript(`const keeper = await open(); print(said); await keeper.close();`);
    expect(lives()).toBe(true);
    expect(existsSync(join(root, '.runner', 'sessions'))).toBe(false);
  });

  (isRoot ? describe : describe.skip)("whose process is another user's", () => {
    test('outlives a clean stop, since that could not be ended, and goes with it', async () => {
      const { pid, startTime } = bystander();
      const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
      const session = await forge('s-1', { pid, startTime, bootId });
      await chown(directory.path, NOBODY, NOBODY);
      for (const path of await readdir(directory.path, { recursive: true })) {
        await chown(join(directory.path, path), NOBODY, NOBODY);
      }
      const restart = `
      const keeper = await open();
      await keeper.create('box');
      const own = await start(keeper, 'echo x');
      await ended(keeper, own);
      const before = await keeper.journal('box', 's-1').catch(({ detail }) => detail ?? 'not_found');
      await keeper.close();
      print({ said, before });
    `;
      const WITHSTOOD = { said: ['processes of an earlier daemon could not be ended'], before: 'session_lost' };
      expect(await keeperScript(restart, { uid: NOBODY })).toEqual([WITHSTOOD]);
      expect(existsSync(join(session, 'process.json'))).toBe(true);
      expect(await readdir(join(root, '.runner', 'sessions', 'box'))).toEqual(['s-1']);
      expect(await keeperScript(restart, { uid: NOBODY })).toEqual([WITHSTOOD]);
      bystanders[0]?.kill('SIGKILL');
      await until('it has gone', () => !existsSync(`/proc/${pid}`));
      expect(await keeperScript(restart, { uid: NOBODY })).toEqual([{ said: [], before: 'session_lost' }]);
      expect(existsSync(session)).toBe(false);
    }, 60_000);
  });
});

(isRoot ? describe : describe.skip)('a close that cannot end a process', () => {
  test('says so, and leaves the record by which the next daemon ends it', async () => {
    const [closed] = await keeperScript(`
      const keeper = await open();
      await keeper.create('box');
      const own = await start(keeper, 'echo $$ >pid; exec sleep 3600');
      const pid = await until(() => Number(readdirSync(root + '/box').includes('pid') && readFileSync(root + '/box/pid')));
      for (const path of ['..', '', ...readdirSync(root, { recursive: true })]) chownSync(root + '/' + path, ${NOBODY}, ${NOBODY});
      process.setgid(${NOBODY});
      process.setuid(${NOBODY});
      const error = await keeper.close().then(() => 'closed', ({ code, message }) => ({ code, message }));
      print({ own, pid, error, lives: lives(pid) });
      process.exit(); // it would wait for its child
    `);
    const { own, pid, ...result } = closed as { own: string; pid: number };
    expect(result).toEqual({
      error: { code: 'unavailable', message: 'processes of sandboxes could not be ended' },
      lives: true,
    });
    expect(await readdir(join(root, '.runner', 'sessions', 'box'))).toEqual([own]);
    const restart = `
      const keeper = await open();
      const before = await keeper.journal('box', '${own}').catch(({ detail }) => detail);
      await keeper.close();
      print({ said, before, lives: lives(${pid}) });
    `;
    expect(await keeperScript(restart)).toEqual([{ said: [], before: 'session_lost', lives: false }]);
    expect(existsSync(join(root, '.runner', 'sessions'))).toBe(false);
  }, 60_000);
});
