import { describe, expect, test } from '@jest/globals';
import type { RunnerLink } from '#libs/protocol';
import { LocalRunnerHost } from './local-runner-host.js';

const link = (): RunnerLink => ({ runnerId: 'r' }) as RunnerLink;

describe('LocalRunnerHost', () => {
  test('finds what was registered, with its meta', async () => {
    const host = new LocalRunnerHost();
    const one = link();
    const meta = { name: 'one' };
    await expect(host.register('r', one, meta)).resolves.toBe('ok');
    await expect(host.whereis('r')).resolves.toBe(one);
    await expect(host.whereis('s')).resolves.toBeUndefined();
    const [entry] = await host.online();
    expect(entry?.[0]).toBe('r');
    expect(entry?.[1]).toBe(meta);
  });

  test('keeps the first under an id', async () => {
    const host = new LocalRunnerHost();
    const one = link();
    await host.register('r', one, undefined);
    await expect(host.register('r', link(), undefined)).resolves.toBe('already_registered');
    await expect(host.register('r', one, undefined)).resolves.toBe('already_registered');
    await expect(host.whereis('r')).resolves.toBe(one);
  });

  test('removes only that very link', async () => {
    const host = new LocalRunnerHost();
    const one = link();
    await host.register('r', one, undefined);
    await expect(host.unregister('r', link())).resolves.toBe(false);
    await expect(host.whereis('r')).resolves.toBe(one);
    await expect(host.unregister('r', one)).resolves.toBe(true);
    await expect(host.unregister('r', one)).resolves.toBe(false);
    await expect(host.online()).resolves.toEqual([]);
  });
});
