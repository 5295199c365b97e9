import { describe, expect, test } from '@jest/globals';
import type { SandboxErrorCode } from '#libs/contract';
import { FakeFiles } from './fake-files.js';
import { ProcessFiles } from './process-files.js';

function files() {
  const all = new FakeFiles(() => new Date(0));
  return { all, own: new ProcessFiles(all, '/srv/app') };
}

describe('symlinks', () => {
  test('are followed by what reads, writes and lists, and told by what looks at them', () => {
    const { all, own } = files();
    own.write('data/a', 'one', 0o666);
    own.symlink('data', 'link');
    own.symlink('../app/link/a', '/srv/x/b');
    own.symlink('/srv/app/link/a', '/srv/x/c');
    expect(own.read('../x/b').toString()).toBe('one');
    expect(own.read('../x/c').toString()).toBe('one');
    own.write('/srv/x/c', 'two');
    expect([own.read('data/a').toString(), own.stat('data/a').mode]).toEqual(['two', 0o666]);
    expect(own.list('link')).toEqual(['a']);
    expect(own.list()).toEqual(['data', 'link']);
    expect(all.stat('/srv/app/link')).toEqual({ type: 'symlink', size: 4, mode: 0o777, modifiedAt: new Date(0) });
    expect(all.hasDirectory('/srv/app/link')).toBe(true);
  });

  test('that lead nowhere yet are written through', () => {
    const { own } = files();
    own.symlink('later/a', 'link');
    expect(() => own.read('link')).toThrow('no such file');
    own.write('link', 'x');
    expect([own.stat('link').type, own.read('later/a').toString()]).toEqual(['symlink', 'x']);
  });

  test('are removed without what they lead to', () => {
    const { own } = files();
    own.write('data/a', '');
    own.symlink('data', 'link');
    own.remove('link');
    expect(own.list()).toEqual(['data']);
    own.remove('data');
    expect(own.list()).toEqual([]);
  });

  test('that go in circles are an error of the call', () => {
    const { all, own } = files();
    own.symlink('b', 'a');
    own.symlink('a', 'b');
    for (const [act, code] of [
      [() => own.write('a', ''), 'write_failed'],
      [() => own.read('a'), 'invalid'],
      [() => all.list('/srv/app/a'), 'invalid'],
    ] as const) {
      expect(act).toThrow(expect.objectContaining({ code, effect: 'none' }));
    }
    expect(own.stat('a').type).toBe('symlink');
  });
});

test.each<[string, SandboxErrorCode, (own: ProcessFiles) => unknown]>([
  ['a write to a path that ends with a slash', 'invalid', (own) => own.write('new/', '')],
  ['a write to a path that is too long', 'invalid', (own) => own.write('a'.repeat(4_097), '')],
  ['a write to a directory', 'write_failed', (own) => own.write('dir', '')],
  ['a write below a file', 'write_failed', (own) => own.write('file/new/a', '')],
  ['a directory where a file is', 'write_failed', (own) => own.makeDirectory('file')],
  ['a symlink where something is', 'write_failed', (own) => own.symlink('x', 'file')],
  ['the removal of what is not there', 'not_found', (own) => own.remove('none')],
  ['the removal of everything', 'not_found', (own) => own.remove('/')],
  ['a listing of what is not there', 'not_found', (own) => own.list('none')],
])('%s is %s, and changes nothing', (_, code, act) => {
  const { own } = files();
  own.write('file', 'x');
  own.makeDirectory('dir');
  own.makeDirectory('dir');
  expect(() => act(own)).toThrow(expect.objectContaining({ code, effect: 'none' }));
  expect([own.list(), own.list('dir'), own.read('file').toString()]).toEqual([['dir', 'file'], [], 'x']);
});
