import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { EmulatorRoot } from './emulator-root.js';
import { OutsideSandbox, SandboxDisk } from './sandbox-disk.js';

let root: EmulatorRoot;
let disk: SandboxDisk;

beforeEach(async () => {
  root = await EmulatorRoot.open();
  disk = new SandboxDisk(root.fresh(), '/home/user');
});

afterEach(async () => await root.close());

test.each([
  ['/home/user/a', '/home/user/a'],
  ['/etc/passwd', '/etc/passwd'],
  ['/../../etc/passwd', '/etc/passwd'],
  ['a/../b', '/home/user/b'],
  ['/tmp/', '/tmp'],
  ['/', ''],
])('%s of the sandbox lies below its directory', (path, below) => {
  expect(disk.locate(path)).toBe(disk.directory + below);
});

test('a path that a command made from HOME is understood', () => {
  expect(disk.locate(join(disk.home, 'a'))).toBe(join(disk.home, 'a'));
  expect(disk.nameOf(join(disk.home, 'a'))).toBe('/home/user/a');
});

test('two sandboxes do not share a file', () => {
  expect(new SandboxDisk(root.fresh(), '/home/user').locate('/tmp/x')).not.toBe(disk.locate('/tmp/x'));
});

test('a symlink within the sandbox is followed', async () => {
  mkdirSync(join(disk.home, 'real'));
  symlinkSync(join(disk.home, 'real'), join(disk.home, 'link'));
  expect(await disk.resolve('/home/user/link/new/file')).toBe(join(disk.home, 'real/new/file'));
});

test.each([['/etc'], ['../../../..'], ['/']])('a symlink to %s leads to nothing', async (target) => {
  symlinkSync(target, join(disk.home, 'out'));
  await expect(disk.resolve('/home/user/out/passwd')).rejects.toMatchObject({ code: 'ENOENT' });
});

test.each([['/etc/none-such'], ['../../../../../none-such'], ['out']])(
  'a symlink to %s, which is not there, leads to nothing',
  async (target) => {
    symlinkSync(target, join(disk.home, 'out'));
    await expect(disk.resolve('/home/user/out')).rejects.toMatchObject({ code: expect.stringMatching(/ENOENT|ELOOP/) });
  },
);

test('a symlink to what is not there yet, within the sandbox, is followed', async () => {
  symlinkSync('new', join(disk.home, 'link'));
  expect(await disk.resolve('/home/user/link')).toBe(join(disk.home, 'new'));
});

test('the link itself can be named', async () => {
  symlinkSync('/etc', join(disk.home, 'out'));
  writeFileSync(join(disk.home, 'x'), '');
  expect(await disk.resolve('/home/user/out', undefined, false)).toBe(join(disk.home, 'out'));
});

test('is removed after what is being made in it', async () => {
  let goOn = () => {};
  const held = new Promise<void>((resolve) => (goOn = resolve));
  const changed = disk.change(async () => {
    await held;
    mkdirSync(join(disk.home, 'a/b'), { recursive: true });
    return 'made';
  });
  const removed = disk.remove();
  await expect(disk.change(async () => mkdirSync(disk.home, { recursive: true }))).rejects.toThrow(OutsideSandbox);
  goOn();
  await removed;
  expect([await changed, disk.sealed, existsSync(disk.directory)]).toEqual(['made', true, false]);
});

test('is removed though what was made in it last has failed', async () => {
  const changed = disk.change(() => Promise.reject(new Error('no room')));
  await Promise.all([disk.remove(), expect(changed).rejects.toThrow('no room')]);
  expect(existsSync(disk.directory)).toBe(false);
});
