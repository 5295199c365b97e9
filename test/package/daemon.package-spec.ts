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

  test('needs less than 3 MB beside terminals, and neither Nest nor rxjs', async () => {
    const entries = await readdir(machine.path('node_modules'), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile() && !entry.parentPath.includes('@lydell'));
    const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size));
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeLessThan(3_000_000);
    const names = (await readdir(machine.path('node_modules'))).filter((name) => !name.startsWith('.'));
    expect(names).toEqual(expect.arrayContaining(['nestjs-sandbox', 'ws']));
    // The last three come with the optional dependencies for faster WebSockets and for terminals.
    const expected = new Set(['nestjs-sandbox', 'ws', 'bufferutil', 'node-gyp-build', '@lydell']);
    expect(names.filter((name) => !expected.has(name))).toEqual([]);
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
