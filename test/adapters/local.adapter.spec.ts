import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '../support/until.js';
import { LocalAdapter, LocalOptions } from './local.adapter.js';
import { localSubject } from './local.subject.js';

/** What the suite cannot ask of every adapter. */
describe('the local adapter', () => {
  let adapter: LocalAdapter;
  let root: string;
  let close: () => Promise<void>;

  beforeEach(async () => {
    const subject = await localSubject();
    ({ close } = subject);
    ({ root } = subject.options);
    adapter = new LocalAdapter(subject.options);
  });
  afterEach(() => close());

  const isThere = (pid: number): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  /** A command that has written its pid, with its pid. */
  async function stay(detachable: boolean): Promise<{ pid: number; stop: () => Promise<void> }> {
    const command = await adapter.spawn(await adapter.create('box'), 'sh', ['-c', 'echo $$; exec sleep 600'], {
      detachable,
    });
    const { value } = (await command[Symbol.asyncIterator]().next()) as IteratorYieldResult<{ data: Uint8Array }>;
    return { pid: Number(Buffer.from(value.data).toString()), stop: () => command.stop() };
  }

  test('lets programs open their output as a file, in the order of their writes', async () => {
    const box = await adapter.create('box');
    const script = 'echo 1 >/dev/stdout; echo 2 >/dev/stderr; echo 3 | tee /dev/stderr';
    const { output } = await adapter.exec(box, 'sh', ['-c', script], { stderrToStdout: true });
    expect(Buffer.from(output).toString()).toBe('1\n2\n3\n3\n');
    await adapter.destroy(box);
  });

  test('stops a command whose reader has left, unless it is detachable', async () => {
    const plain = await stay(false);
    await plain.stop();
    await until('it is gone', () => !isThere(plain.pid));
    const detached = await stay(true);
    await detached.stop();
    expect((await adapter.exec(adapter.buildHandle('box'), 'true')).exitCode).toBe(0);
    expect(isThere(detached.pid)).toBe(true);
    await adapter.destroy(adapter.buildHandle('box'));
    expect(isThere(detached.pid)).toBe(false);
  });

  test('ends a write whose content hangs when its signal fires, and leaves the file', async () => {
    const box = await adapter.create('box');
    await adapter.writeFile(box, 'file', 'old');
    const over = new AbortController();
    async function* hanging(): AsyncGenerator<string> {
      yield 'new';
      over.abort();
      await new Promise(() => {});
    }
    const write = adapter.writeFile(box, 'file', hanging(), { signal: over.signal });
    await expect(write).rejects.toMatchObject({ code: 'aborted', operation: 'writeFile' });
    expect(Buffer.from(await adapter.readFile(box, 'file')).toString()).toBe('old');
    expect(await readdir(join(root, 'box'))).toEqual(['file']);
    await adapter.destroy(box);
  });

  test('takes no sandbox for missing, or destroyed, while the root is away', async () => {
    const box = await adapter.create('box');
    await rename(root, `${root}-away`);
    for (const call of [adapter.get(box), adapter.exec(box, 'true'), adapter.destroy(box), adapter.listAllNames()]) {
      await expect(call).rejects.toMatchObject({ code: 'unavailable' });
    }
    await rename(`${root}-away`, root);
    expect(await adapter.listAllNames()).toEqual(['box']);
    await adapter.destroy(box);
  });

  test('removes with a destroy what an earlier one has left', async () => {
    await mkdir(join(root, 'box~of-an-attempt-that-failed'));
    await adapter.destroy(adapter.buildHandle('box'));
    expect(await readdir(root)).toEqual([]);
  });

  test('refuses to list names that no text can carry', async () => {
    const box = await adapter.create('box');
    await writeFile(Buffer.concat([Buffer.from(join(root, 'box/')), Buffer.from([0xff])]), '');
    await expect(adapter.listFiles(box, '.')).rejects.toMatchObject({ code: 'truncated', effect: 'none' });
    await adapter.destroy(box);
  });

  test('keeps the environment of this process from commands', async () => {
    process.env['SECRET_OF_A_TEST'] = 'x';
    const box = await adapter.create('box');
    const { exitCode } = await adapter.exec(box, 'sh', ['-c', '[ -z "$SECRET_OF_A_TEST" ]']);
    delete process.env['SECRET_OF_A_TEST'];
    expect(exitCode).toBe(0);
    await adapter.destroy(box);
  });

  test('leaves no descriptor open after many commands', async () => {
    const box = await adapter.create('box');
    const round = async (): Promise<number> => {
      for (let i = 0; i < 20; i++) {
        await adapter.exec(box, 'cat', [], { stdin: 'x' });
        await adapter.exec(box, 'no-such-program');
        await adapter.exec(box, 'true', [], { dir: 'nowhere' }).catch(() => {});
      }
      return (await readdir('/dev/fd')).length;
    };
    const before = await round();
    expect(await until('there are no more than before', async () => (await round()) <= before)).toBe(true);
    await adapter.destroy(box);
  });

  test('needs an absolute root', () => {
    expect(() => new LocalOptions({ root: 'relative' })).toThrow('absolute');
  });
});
