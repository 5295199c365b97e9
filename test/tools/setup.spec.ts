import { hostname } from 'node:os';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { until } from '../support/until.js';
import { FakeTree } from './fake-tree.js';

describe('the set-up before npm start and npm test', () => {
  let tree: FakeTree;

  beforeEach(() => {
    tree = new FakeTree();
  });

  afterEach(() => tree[Symbol.dispose]());

  test('installs from the lock file, builds, then runs what was asked, with its output on stderr alone', async () => {
    const { code, stdout, stderr } = await tree.run();
    expect(tree.calls()).toEqual(['npm ci', 'nest build']);
    expect({ code, stdout }).toEqual({ code: 5, stdout: 'main\n' });
    expect(stderr).toBe('Installing dependencies (npm ci).\nsaid by npm\nBuilding (nest build).\nsaid by nest\n');
    expect(tree.has('.setup.lock')).toBe(false);
  });

  test('does and says nothing when nothing has changed', async () => {
    await tree.run();
    tree.calls();
    expect(await tree.run()).toEqual({ code: 5, stdout: 'main\n', stderr: '' });
    expect(tree.calls()).toEqual([]);
  });

  test('says nothing under npm --silent', async () => {
    expect(await tree.run({ npm_config_loglevel: 'silent' })).toEqual({ code: 5, stdout: 'main\n', stderr: '' });
    expect(tree.calls()).toEqual(['npm ci', 'nest build']);
  });

  test.each<[what: string, change: (tree: FakeTree) => void, calls: string[]]>([
    ['a changed source', (t) => t.write('src/index.ts', 'export const one = 2;'), ['nest build']],
    ['a new source', (t) => t.write('libs/a/src/index.ts', ''), ['nest build']],
    ['a changed compiler option', (t) => t.write('tsconfig.build.json', '{}'), ['nest build']],
    ['a missing dist', (t) => t.delete('dist'), ['nest build']],
    ['a dist that something else built', (t) => t.write('dist/build.tsbuildinfo', 'other'), ['nest build']],
    ['a changed unit spec', (t) => t.write('src/index.spec.ts', ''), []],
    ['a changed lock file', (t) => t.write('package-lock.json', '{}'), ['npm install --no-save', 'nest build']],
    ['a missing node_modules', (t) => t.delete('node_modules'), ['npm ci', 'nest build']],
    ['an install by other means', (t) => t.delete('node_modules/.setup-install'), ['npm install --no-save']],
    ['an install for another Node', (t) => t.write('node_modules/.setup-install', 'other'), ['npm ci', 'nest build']],
    [
      'a changed dependency',
      (t) => t.write('package.json', '{"devDependencies":{"a":"2"}}'),
      ['npm install --no-save', 'nest build'],
    ],
    [
      'a changed script',
      (t) => t.write('package.json', '{"devDependencies":{"a":"1"},"scripts":{"b":"c"}}'),
      ['nest build'],
    ],
  ])('after %s does what that needs', async (_, change, calls) => {
    await tree.run();
    tree.calls();
    change(tree);
    expect((await tree.run()).code).toBe(5);
    expect(tree.calls()).toEqual(calls);
    expect((await tree.run()).code).toBe(5);
    expect(tree.calls()).toEqual([]);
  });

  test.each([
    ['install', { FAKE_NPM: 'fail' }, 9, 'npm ci failed with exit code 9.\n'],
    ['install', { FAKE_NPM: 'die' }, 137, 'npm ci failed with exit code 137.\n'],
    ['build', { FAKE_NEST: 'fail' }, 1, 'nest build failed with exit code 1.\n'],
  ])('a failed %s ends with its exit code and is done again the next time', async (_, env, code, message) => {
    const failed = await tree.run({ ...env, npm_config_loglevel: 'silent' });
    expect({ code: failed.code, stdout: failed.stdout }).toEqual({ code, stdout: '' });
    expect(failed.stderr.endsWith(message)).toBe(true);
    tree.calls();
    expect((await tree.run()).code).toBe(5);
    expect(tree.calls().at(-1)).toBe('nest build');
  });

  test('a broken update of a good tree is followed by a clean install', async () => {
    await tree.run();
    tree.write('package-lock.json', '{}');
    await tree.run({ FAKE_NPM: 'die' });
    tree.calls();
    expect((await tree.run()).code).toBe(5);
    expect(tree.calls()).toEqual(['npm ci', 'nest build']);
  });

  test('without npm it says where npm comes from', async () => {
    const { code, stderr } = await tree.run({ npm_execpath: '', PATH: '/nonexistent' });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'npm was not found on the PATH. It comes with Node: https://nodejs.org\n',
    });
  });

  test('passes a signal on, waits for npm to end and leaves no lock', async () => {
    const { pid, outcome } = tree.start({ FAKE_NPM: 'wait' });
    const calls: string[] = [];
    await until('npm waits', () => calls.push(...tree.calls()) > 0 && calls.includes('npm waits'));
    process.kill(pid, 'SIGTERM');
    expect((await outcome).code).toBe(143);
    expect(tree.calls()).toEqual(['npm got TERM']);
    expect(tree.has('.setup.lock')).toBe(false);
  });

  test('several at once install and build once, and all go on', async () => {
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => tree.run()));
    expect(outcomes.map(({ code }) => code)).toEqual([5, 5, 5, 5]);
    expect(tree.calls()).toEqual(['npm ci', 'nest build']);
  });

  test('several at once that find the lock of a killed owner install and build once', async () => {
    const dead = tree.start({ FAKE_NPM: 'die' });
    await dead.outcome;
    tree.calls();
    tree.write('.setup.lock', JSON.stringify({ pid: dead.pid, host: hostname(), nonce: 'x' }));
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => tree.run()));
    expect(outcomes.map(({ code }) => code)).toEqual([5, 5, 5, 5]);
    expect(tree.calls()).toEqual(['npm ci', 'nest build']);
  });
});
