import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeSandboxFile } from './write-file.js';

let box: string;
let outside: string;

beforeEach(() => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'write-')));
  box = join(base, 'box');
  outside = join(base, 'outside');
  mkdirSync(box);
  mkdirSync(outside);
});

afterEach(() => rmSync(join(box, '..'), { recursive: true, force: true }));

const data = Buffer.from([0, 255, 10, 13]);
const mode = (path: string) => statSync(join(box, path)).mode & 0o7777;
const OUTSIDE = { code: 'invalid', detail: 'path_outside_sandbox', effect: 'none' };

describe('a file of a sandbox', () => {
  test.each([
    ['a/b/c', 'a/b/c'],
    ['./x', 'x'],
    ['a/../y', 'y'],
    ['~/z', 'z'],
    ['/home/sprite/w', 'w'],
    ['/home/sprite/d/../v', 'v'],
  ])('is written by the path %s', async (path, below) => {
    await writeSandboxFile(box, path, data);
    expect(readFileSync(join(box, below))).toEqual(data);
  });

  test('is written by its absolute path', async () => {
    await writeSandboxFile(box, join(box, 'abs'), data);
    expect(readFileSync(join(box, 'abs'))).toEqual(data);
  });

  test('is refused by a path that is longer than any program could open', async () => {
    const refused = writeSandboxFile(box, `${'a/'.repeat(2_048)}f`, data);
    await expect(refused).rejects.toMatchObject({ code: 'invalid', detail: 'argument', effect: 'none' });
    expect(readdirSync(box)).toEqual([]);
  });

  test.each(['../x', '/etc/x', '/home/spriteful/x', '~/../x', '/home/sprite/../x', 'a/../../x', '~root/../../x'])(
    'is refused by the path %s',
    async (path) => {
      await expect(writeSandboxFile(box, path, data)).rejects.toMatchObject(OUTSIDE);
    },
  );

  test.each(['', 'a\0b', 'a/'])('is not named %j', async (path) => {
    await expect(writeSandboxFile(box, path, data)).rejects.toMatchObject({ code: 'invalid', detail: 'argument' });
  });

  test.each(['.', 'folder', 'file/x'])('cannot be %s', async (path) => {
    mkdirSync(join(box, 'folder'));
    writeFileSync(join(box, 'file'), 'x');
    await expect(writeSandboxFile(box, path, data)).rejects.toMatchObject({ code: 'write_failed' });
  });
});

describe('a refusal', () => {
  const tooLong = 'x'.repeat(256);

  test.each([
    ['none: nothing was made', tooLong, 'none', []],
    ['unknown: a parent was made', `new/${tooLong}`, 'unknown', ['new']],
    ['unknown: a parent of a parent was made', `new/${tooLong}/f`, 'unknown', ['new']],
  ])('has effect %s', async (_effect, path, effect, left) => {
    await expect(writeSandboxFile(box, path, data)).rejects.toMatchObject({ code: 'write_failed', effect });
    expect(readdirSync(box)).toEqual(left);
  });

  test('for a way that leads outside over a directory which it made has effect unknown', async () => {
    symlinkSync('new/../../outside', join(box, 'link'));
    await expect(writeSandboxFile(box, 'link/f', data)).rejects.toMatchObject({ ...OUTSIDE, effect: 'unknown' });
    expect(readdirSync(box).toSorted()).toEqual(['link', 'new']);
  });
});

describe('the mode', () => {
  test.each([0o077, 0, 0o777])('is exact under umask %o', async (umask) => {
    mkdirSync(join(box, 'd'));
    const before = process.umask(umask);
    try {
      for (const asked of [0o755, 0o600, 0o444, 0]) {
        await writeSandboxFile(box, `d/m${asked}`, data, asked);
        expect(mode(`d/m${asked}`)).toBe(asked);
      }
      await writeSandboxFile(box, 'd/default', data);
      expect(mode('d/default')).toBe(0o644);
    } finally {
      process.umask(before);
    }
  });

  test('of an existing file is kept unless another is asked for', async () => {
    writeFileSync(join(box, 'tool'), 'old');
    await writeSandboxFile(box, 'tool', data, 0o755);
    await writeSandboxFile(box, 'tool', data);
    expect(mode('tool')).toBe(0o755);
  });

  test.each([-1, 0o10000, 0o4755, 1.5, Number.NaN])('is not %d', async (asked) => {
    await expect(writeSandboxFile(box, 'f', data, asked)).rejects.toMatchObject({
      code: 'invalid',
      detail: 'argument',
    });
    expect(readdirSync(box)).toEqual([]);
  });
});

describe('a symlink', () => {
  test('that stays inside is followed, in the way and at its end', async () => {
    mkdirSync(join(box, 'real/deep'), { recursive: true });
    symlinkSync('real', join(box, 'relative'));
    symlinkSync(join(box, 'real'), join(box, 'absolute'));
    symlinkSync('../relative/deep/f3', join(box, 'real/link'));
    await writeSandboxFile(box, 'relative/f1', data);
    await writeSandboxFile(box, 'absolute/f2', data);
    await writeSandboxFile(box, 'real/link', data);
    expect(readdirSync(join(box, 'real')).toSorted()).toEqual(['deep', 'f1', 'f2', 'link']);
    expect(readFileSync(join(box, 'real/deep/f3'))).toEqual(data);
  });

  test('that leads outside is refused, whether its target exists or not', async () => {
    writeFileSync(join(outside, 'present'), 'x');
    symlinkSync(outside, join(box, 'dir'));
    symlinkSync('../outside', join(box, 'up'));
    symlinkSync(join(outside, 'present'), join(box, 'present'));
    symlinkSync(join(outside, 'absent'), join(box, 'absent'));
    for (const path of ['dir/new', 'up/new', 'present', 'absent']) {
      await expect(writeSandboxFile(box, path, data)).rejects.toMatchObject(OUTSIDE);
    }
    expect([readdirSync(outside), readFileSync(join(outside, 'present'), 'utf8')]).toEqual([['present'], 'x']);
  });

  test('loop fails', async () => {
    symlinkSync('b', join(box, 'a'));
    symlinkSync('a', join(box, 'b'));
    await expect(writeSandboxFile(box, 'a', data)).rejects.toMatchObject({ code: 'write_failed' });
  });

  test('swapped for a directory during 1 000 writes leads nothing outside', async () => {
    // From too short for a write to long enough for one, so that every step of it meets a swap.
    const pass = async (turns: number) => {
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    mkdirSync(join(box, 'd'));
    const attempt = (action: () => void): boolean => {
      try {
        action();
        return true;
      } catch {
        return false;
      }
    };
    const restore = () => {
      rmSync(join(box, 'd'), { recursive: true, force: true });
      renameSync(join(box, 'parked'), join(box, 'd'));
    };
    const swapping = new AbortController();
    const swaps = (async () => {
      for (let turns = 0; !swapping.signal.aborted; turns = (turns + 1) % 60) {
        renameSync(join(box, 'd'), join(box, 'parked'));
        attempt(() => symlinkSync(outside, join(box, 'd')));
        await pass(turns);
        while (!attempt(restore)); // a write may have made a directory of that name
        await pass(turns);
      }
    })();
    let inside = 0;
    for (let i = 0; i < 1_000; i += 1) {
      await writeSandboxFile(box, 'd/f', data).then(
        () => (inside += 1),
        () => {},
      );
    }
    swapping.abort();
    await swaps;
    expect(inside).toBeGreaterThan(0);
    expect(readdirSync(outside)).toEqual([]);
  });
});

test('nothing is left open or behind', async () => {
  mkdirSync(join(box, 'taken'));
  const files = readdirSync('/proc/self/fd').length;
  for (let i = 0; i < 100; i += 1) {
    await writeSandboxFile(box, 'a/b/c', data);
    await writeSandboxFile(box, 'taken', data).catch(() => {});
    await writeSandboxFile(box, '../x', data).catch(() => {});
  }
  expect(readdirSync('/proc/self/fd').length).toBe(files);
  expect(readdirSync(join(box, 'a/b'))).toEqual(['c']);
  expect(existsSync(join(outside, 'x'))).toBe(false);
});
