import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runnerSandboxName } from '../../src/runner/index.js';
import { TestApp } from '../support/nest-app.js';
import { RUNNER_ID, RUNNER_TOKEN } from '../support/runners.js';
import { blocks, pages } from '../support/snippets.js';
import { Background } from './background.js';
import { Consumer } from './consumer.js';

describe('the daemon on a machine of its own', () => {
  let machine: Consumer;

  beforeAll(async () => {
    machine = await Consumer.create({});
    const [line = ''] = blocks(pages().get('docs/guides/machines.md') ?? '', 'sh');
    await machine.install(...line.trim().split(' ').slice(2));
  });

  afterAll(() => machine[Symbol.asyncDispose]());

  test('npx sandbox-runner --help says what it does', async () => {
    const help = await machine.sh('npx --no-install sandbox-runner --help');
    expect(help).toMatch(/^sandbox-runner \d+\.\d+\.\d+\n/);
    expect(help).toContain('Usage: sandbox-runner --url URL --token-file FILE [options]');
  });

  // The sum of the sizes of all files, of the package and of what it depends on. Not counted is what npm may leave out:
  // terminals, and the binaries of `bufferutil` for several systems, 0.36 MB.
  test('needs less than 2 MB beside what is optional, and neither Nest nor rxjs', async () => {
    const names = (await readdir(machine.path('node_modules'))).filter((name) => !name.startsWith('.'));
    const optional = new Set(['bufferutil', 'node-gyp-build', '@lydell']);
    expect(names.filter((name) => !optional.has(name)).toSorted()).toEqual(['nestjs-sandbox', 'ws']);
    expect(await bytesIn(machine.path('node_modules/nestjs-sandbox'))).toBeGreaterThan(1_000_000);
    const sizes = ['nestjs-sandbox', 'ws'].map((name) => bytesIn(machine.path(`node_modules/${name}`)));
    expect((await Promise.all(sizes)).reduce((sum, size) => sum + size)).toBeLessThan(2_000_000);
  });

  test('serves a platform', async () => {
    const app = await TestApp.start();
    try {
      const options = ['--url', app.url, '--root', machine.path('root'), '--name', 'alone'];
      const env = { SANDBOX_RUNNER_TOKEN: RUNNER_TOKEN };
      const program = machine.path('node_modules/.bin/sandbox-runner');
      await using daemon = Background.start(program, options, machine.directory, env);
      await app.online(RUNNER_ID);
      const box = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
      const { exitCode, output } = await app.sandboxes.exec(box, 'echo', ['a  b', 'é']);
      expect([exitCode, Buffer.from(output).toString()]).toEqual([0, 'a  b é\n']);
      await app.sandboxes.destroy(box);
      expect(await daemon.stop()).toBe(0);
    } finally {
      await app.close();
    }
  });
});

async function bytesIn(directory: string): Promise<number> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return (await Promise.all(files.map(async (file) => (await stat(file)).size))).reduce((sum, size) => sum + size, 0);
}
