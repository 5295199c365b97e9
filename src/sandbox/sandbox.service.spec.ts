import { describe, expect, jest, test } from '@jest/globals';
import { SandboxAdapter, SandboxError, type SandboxCommand, type SandboxHandle } from '#libs/contract';
import { resolveSettings } from '../common/index.js';
import { AdapterRegistry } from './adapter-registry.js';
import { SandboxService } from './sandbox.service.js';
import { SandboxSettings } from './sandbox.settings.js';

type Call = [method: string, ...args: unknown[]];

/** Records what reaches it. */
function recorder(): { adapter: SandboxAdapter; calls: Call[] } {
  const calls: Call[] = [];
  const adapter = new Proxy(
    {},
    {
      get: (_, method: string) => {
        if (method === 'capabilities') return new Set(['attach']);
        return (...args: unknown[]) => {
          if (method !== 'bind') calls.push([method, ...args]);
          return method === 'capabilitiesOf' ? Promise.resolve(new Set(['files'])) : Promise.resolve(method);
        };
      },
    },
  ) as SandboxAdapter;
  return { adapter, calls };
}

function service(adapters: Record<string, SandboxAdapter> = {}, retryBaseMs = 250): SandboxService {
  return new SandboxService(
    new AdapterRegistry(Object.entries(adapters)),
    resolveSettings(SandboxSettings, { retryBaseMs }),
  );
}

const handle: SandboxHandle = { provider: 'a', name: 'one' };
const options = {};

describe('SandboxService', () => {
  test('passes every operation on to the adapter of the tag', async () => {
    const { adapter, calls } = recorder();
    const s = service({ b: recorder().adapter, a: adapter });
    await s.create('a', 'one', options);
    await s.createNew('a', 'one', options);
    s.buildHandle('a', 'one');
    await s.get(handle, options);
    await s.destroy(handle, options);
    await s.listAllNames('a', options);
    await s.suspend(handle, options);
    await s.resume(handle, options);
    await s.writeFile(handle, 'p', 'data', options);
    await s.readFile(handle, 'p', options);
    await s.listFiles(handle, 'p', options);
    await s.statFile(handle, 'p', options);
    await s.exec(handle, 'cmd', ['x'], options);
    await s.spawn(handle, 'cmd', ['x'], options);
    await s.listSessions(handle, options);
    await s.attach(handle, 's-1', options);
    await s.terminateSession(handle, 's-1', options);
    await s.applyNetworkPolicy(handle, { allow: [] }, options);
    await s.publicUrl(handle, { port: 80 }, options);
    await s.createCheckpoint(handle, options);
    await s.restoreCheckpoint(handle, 'c-1', options);
    await s.hostPath(handle, '~', options);
    expect(calls).toEqual([
      ['create', 'one', options],
      ['createNew', 'one', options],
      ['buildHandle', 'one'],
      ['get', handle, options],
      ['destroy', handle, options],
      ['listAllNames', options],
      ['suspend', handle, options],
      ['resume', handle, options],
      ['writeFile', handle, 'p', 'data', options],
      ['readFile', handle, 'p', options],
      ['listFiles', handle, 'p', options],
      ['statFile', handle, 'p', options],
      ['exec', handle, 'cmd', ['x'], options],
      ['spawn', handle, 'cmd', ['x'], options],
      ['listSessions', handle, options],
      ['attach', handle, 's-1', options],
      ['terminateSession', handle, 's-1', options],
      ['applyNetworkPolicy', handle, { allow: [] }, options],
      ['publicUrl', handle, { port: 80 }, options],
      ['createCheckpoint', handle, options],
      ['restoreCheckpoint', handle, 'c-1', options],
      ['hostPath', handle, '~', options],
    ]);
  });

  test('passes the operations of a command on to the command', async () => {
    const calls: Call[] = [];
    const note =
      (method: string) =>
      async (...args: unknown[]): Promise<void> =>
        void calls.push([method, ...args]);
    const command = {
      provider: 'a',
      writeStdin: note('writeStdin'),
      closeStdin: note('closeStdin'),
      resize: note('resize'),
      stop: note('stop'),
    } as unknown as SandboxCommand;
    const s = service({ a: recorder().adapter });
    await s.writeStdin(command, 'x', options);
    await s.closeStdin(command, options);
    await s.resize(command, { cols: 1, rows: 2 });
    await s.stopCommand(command);
    expect(calls).toEqual([
      ['writeStdin', 'x', options],
      ['closeStdin', options],
      ['resize', { cols: 1, rows: 2 }],
      ['stop'],
    ]);
    await expect(service().stopCommand(command)).rejects.toMatchObject({ detail: 'unknown_provider' });
  });

  test('takes handles that went through JSON', async () => {
    const { adapter, calls } = recorder();
    await service({ a: adapter }).get(JSON.parse(JSON.stringify(handle)) as SandboxHandle);
    expect(calls).toEqual([['get', handle, undefined]]);
  });

  test.each([undefined, null, 7, 'a', [], {}, { provider: 'a' }, { provider: 'A', name: 'x' }, { name: 'x' }])(
    'refuses the handle %p',
    async (bad) => {
      const { adapter, calls } = recorder();
      const s = service({ a: adapter });
      const expected = { code: 'invalid', detail: 'argument', effect: 'none' };
      await expect(s.get(bad as SandboxHandle)).rejects.toMatchObject(expected);
      await expect(s.spawn(bad as SandboxHandle, 'x')).rejects.toMatchObject(expected);
      const object = bad === 'a' ? {} : bad;
      await expect(s.capabilities(object as SandboxHandle)).rejects.toMatchObject(expected);
      await expect(s.supports(object as SandboxHandle, 'tty')).rejects.toMatchObject(expected);
      expect(calls).toEqual([]);
    },
  );

  test.each([undefined, null, 7, {}, { provider: 'a' }])('refuses the command %p', async (bad) => {
    await expect(service().writeStdin(bad as SandboxCommand, 'x')).rejects.toMatchObject({
      code: 'invalid',
      detail: 'argument',
      effect: 'none',
    });
  });

  test.each<[string, Promise<unknown>]>([
    ['create', service({ a: recorder().adapter }).create('b', 'one')],
    ['listAllNames', service({ a: recorder().adapter }).listAllNames('b')],
    ['get', service({ a: recorder().adapter }).get({ provider: 'b', name: 'one' })],
  ])('in %s names the known providers for one that is not', async (_, call) => {
    await expect(call).rejects.toMatchObject({
      code: 'invalid',
      detail: 'unknown_provider',
      effect: 'none',
      message: 'unknown sandbox provider "b"; known: a',
    });
  });

  test('says that none is configured', async () => {
    await expect(service().create('runner', 'one')).rejects.toThrow(/known: none configured/);
    expect(() => service().supports('runner', 'tty')).toThrow(SandboxError);
  });

  test('does not repeat a tag that is none', async () => {
    await expect(service().create('<script>', 'one')).rejects.toThrow(/\(malformed tag\)/);
    await expect(service().create('__proto__', 'one')).rejects.toMatchObject({ detail: 'unknown_provider' });
  });

  test('tells the static capabilities by tag and the present ones by handle', async () => {
    const s = service({ a: recorder().adapter });
    expect([s.supports('a', 'attach'), s.supports('a', 'files')]).toEqual([true, false]);
    await expect(s.supports(handle, 'files')).resolves.toBe(true);
    await expect(s.supports(handle, 'attach')).resolves.toBe(false);
    expect([...s.capabilities('a')]).toEqual(['attach']);
    expect([...(await s.capabilities(handle))]).toEqual(['files']);
  });

  test('backs off from the configured first step', async () => {
    const work = jest.fn(() => Promise.reject(new SandboxError('unavailable')));
    // The step that is built in would be over long before the deadline.
    const slow = { baseMs: undefined, maxMs: 60_000, deadlineMs: 20_000 };
    await expect(service({}, 60_000).withBackoff(work, slow)).rejects.toMatchObject({ code: 'unavailable' });
    expect(work).toHaveBeenCalledTimes(1);
    await expect(service({}, 1).withBackoff(work, { attempts: 2 })).rejects.toMatchObject({ code: 'unavailable' });
    expect(work).toHaveBeenCalledTimes(3);
  });
});
