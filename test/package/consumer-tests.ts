import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { REPOSITORY } from '../support/dist.js';
import { pages, snippets } from '../support/snippets.js';
import { Background, freePort } from './background.js';
import { Consumer } from './consumer.js';
import { readMeLines, readMePackages } from './read-me.js';
import { versioned, type NestMajor } from './versions.js';

export interface ConsumerKind {
  readonly nest: NestMajor;
  readonly type: 'module' | 'commonjs';
  /** Optional peers beyond the README's, for the entries that need them. */
  readonly more?: readonly string[];
}

const ENTRIES = ['', '/runner', '/contract', '/testing'];
const ENTRY_OF: Readonly<Record<string, string>> = { '@nestjs/terminus': '/health', '@opentelemetry/api': '/otel' };

/** The README and the guides, followed in an empty directory. */
export function consumerTests({ nest, type, more = [] }: ConsumerKind): void {
  describe(`on Nest ${nest}, ${type}`, () => {
    const entries = [...ENTRIES, ...more.map((name) => ENTRY_OF[name] ?? '')];
    const absent = Object.values(ENTRY_OF).filter((entry) => !entries.includes(entry));
    const shown = snippets(pages().values()).filter(
      ({ text }) => !absent.some((entry) => text.includes(`'nestjs-sandbox${entry}'`)),
    );
    let consumer: Consumer;

    beforeAll(async () => {
      consumer = await Consumer.create({ type });
      const said = [...readMePackages()].map(([name, version]) => versioned(name, nest, version));
      const [own = ''] = readMeLines('npm install ./').map((line) => line.split(' ')[2]);
      await consumer.install(own, ...said, ...more.map((name) => versioned(name, nest)));
      for (const { path, text } of shown) await consumer.write(path, text);
    });

    afterAll(() => consumer[Symbol.asyncDispose]());

    test('the code of the pages compiles', async () => {
      const [compile = ''] = readMeLines('npx tsc ');
      expect(await consumer.sh(compile)).toBe('');
    });

    // The tarball has only those declarations that an entry leads to, and the compiler looks into all of them here.
    if (absent.length === 0) {
      test('every entry has all of its types', async () => {
        const lines = typed().map((entry, at) => `export * as entry${at} from 'nestjs-sandbox${entry}';`);
        expect(lines.length).toBeGreaterThan(entries.length);
        await consumer.write('entries.ts', lines.join('\n'));
        const options = '--noEmit --module nodenext --target es2023 --types node --skipLibCheck false';
        expect(await consumer.sh(`npx tsc ${options} --strict --exactOptionalPropertyTypes entries.ts`)).toBe('');
      });
    }

    test('the tests of the pages pass, with a daemon of the package', async () => {
      const [run = ''] = readMeLines('node --test ');
      const printed = await consumer.sh(run);
      const count = shown.reduce((sum, { text }) => sum + (text.match(/^test\(/gm) ?? []).length, 0);
      expect(count).toBeGreaterThan(0);
      // The mark before a line of the summary depends on the version of Node.
      expect(printed.match(/(?<=^\W+)(?:pass|fail) \d+$/gm)).toEqual([`pass ${count}`, 'fail 0']);
    });

    test('the application starts, lets a machine in and ends', async () => {
      const [runnerId, token, port] = [randomUUID(), randomUUID(), await freePort()];
      await mkdir(consumer.path('machine'));
      await consumer.write('machine/runner.token', `${token}\n`);
      const [start = ''] = readMeLines('RUNNER_TOKENS=').map((line) => line.split(' ').slice(1).join(' '));
      const env = { RUNNER_TOKENS: `${runnerId}:${token}`, PORT: String(port) };
      await using app = Background.start('sh', ['-c', `exec ${start}`], consumer.directory, env);
      await app.prints(/Nest application successfully started/);
      const [connect = ''] = readMeLines('npx sandbox-runner ');
      const line = connect.replace(/--url \S+/, `--url http://127.0.0.1:${port}`).replace(/^npx /, 'exec ');
      const bin = `PATH="${consumer.path('node_modules/.bin')}:$PATH" SANDBOX_RUNNER_ROOT="$PWD/root"`;
      await using daemon = Background.start('sh', ['-c', `export ${bin}; ${line}`], consumer.path('machine'));
      await daemon.prints(/\bconnected\b/);
      expect(await daemon.stop()).toBe(0);
      expect(await app.stop()).toBe('SIGTERM');
      expect(app.output).not.toContain('ERROR');
    });

    test.each(entries)('nestjs-sandbox%s loads', async (entry) => {
      const load = type === 'module' ? 'await import(name)' : 'require(name)';
      const script = `const name = 'nestjs-sandbox${entry}'; console.log(Object.keys(${load}).length)`;
      await consumer.write(`entry.${type === 'module' ? 'mjs' : 'cjs'}`, script);
      const printed = await consumer.sh(`node entry.${type === 'module' ? 'mjs' : 'cjs'}`);
      expect(Number(printed)).toBeGreaterThan(0);
    });
  });
}

/** The entries with types, '' for the root. */
function typed(): string[] {
  const manifest = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as { exports: object };
  return Object.entries(manifest.exports).flatMap(([name, entry]) =>
    typeof entry === 'string' ? [] : [name.slice(1)],
  );
}
