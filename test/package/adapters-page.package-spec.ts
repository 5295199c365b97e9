import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { adaptersPage, filesIn } from '../adapters/page-files.js';
import { blocks } from '../support/snippets.js';
import { Consumer } from './consumer.js';
import { versioned } from './versions.js';

/** The page about adapters, followed in an empty directory with nothing but what it says. */
describe('docs/adapters.md', () => {
  const page = adaptersPage();
  const files = filesIn(page);
  const ofNest = files.filter(({ text }) => text.includes("'@nestjs/"));
  const [installs = '', run = '', installsNest = '', runNest = ''] = blocks(page, 'sh');
  const [compile = '', ...runs] = run.trim().split('\n');
  let consumer: Consumer;

  const install = async (lines: string): Promise<void> => {
    const words = lines.split('\n').flatMap((line) => line.split(' ').slice(2));
    const names = words.filter((word) => !word.startsWith('-'));
    const pinned = names.map((word) => {
      const [, name = '', said] = /^(@?[^@]+)(?:@(.*))?$/.exec(word) ?? [];
      return word.startsWith('./') ? word : versioned(name, 12, said);
    });
    await consumer.install(...pinned);
  };

  beforeAll(async () => {
    consumer = await Consumer.create({ type: 'module' });
    await install(installs);
    for (const { path, text } of files.filter((one) => !ofNest.includes(one))) await consumer.write(path, text);
  });
  afterAll(() => consumer[Symbol.asyncDispose]());

  test('compiles with what it installs at the beginning', async () => {
    expect(compile).toMatch(/^npx tsc /);
    expect(await consumer.sh(compile)).toBe('');
  });

  test('runs the suite under the runner of Node and as a program', async () => {
    expect(runs).toHaveLength(2);
    const [tests = '', program = ''] = runs;
    expect(await consumer.sh(tests)).toMatch(/^\W+fail 0$/m);
    expect(await consumer.sh(program)).toMatch(/^[1-9]\d\d passed, 0 failed, 0 of them MUST$/m);
  });

  test('runs in a Nest application', async () => {
    await install(installsNest);
    for (const { path, text } of ofNest) await consumer.write(path, text);
    expect(await consumer.sh(compile)).toBe('');
    expect(await consumer.sh(runNest.trim())).toMatch(/^\W+pass 1$/m);
  });
});
