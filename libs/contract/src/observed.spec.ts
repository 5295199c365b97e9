import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, test } from '@jest/globals';
import type { CallObserver, ObservedCall } from './call-observer.js';
import type { SandboxCapability } from './capabilities.js';
import type { SandboxCommand } from './command.js';
import type { ExecResult } from './frames.js';
import { sandboxHandle, type SandboxHandle } from './handle.js';
import type { SandboxInfo } from './operations.js';
import { SandboxAdapter } from './sandbox-adapter.js';
import { SandboxError } from './sandbox-error.js';

const context = new AsyncLocalStorage<string>();

/** Answers `get` with the async context that it runs in, and counts how often it was asked. */
class ContextAdapter extends SandboxAdapter {
  override readonly capabilities = new Set<SandboxCapability>();
  gets = 0;

  constructor() {
    super('fake');
  }

  protected override async doCreate(name: string): Promise<SandboxHandle> {
    return sandboxHandle(this.provider, name);
  }
  protected override async doGet(): Promise<SandboxInfo> {
    this.gets++;
    return { status: 'running', raw: context.getStore() };
  }
  protected override async doDestroy(): Promise<void> {
    throw new Error('not a SandboxError');
  }
  protected override async doListAllNames(): Promise<string[]> {
    return [];
  }
  protected override async doWriteFile(): Promise<void> {}
  protected override async doExec(): Promise<ExecResult> {
    throw new SandboxError('unavailable', { detail: 'timeout' });
  }
  protected override async doSpawn(): Promise<SandboxCommand> {
    throw new SandboxError('unavailable');
  }
}

const handle = sandboxHandle('fake', 'a');

function adapterSeenBy(observe: CallObserver['observe']): ContextAdapter {
  const adapter = new ContextAdapter();
  adapter.observe({ observe });
  return adapter;
}

describe('an observer of an adapter', () => {
  test('sees provider, operation and outcome of every call, before the caller does', async () => {
    const seen: unknown[] = [];
    const adapter = adapterSeenBy((call, work) => {
      work().then(
        (value) => seen.push([call, value]),
        (error: SandboxError) => seen.push([call, error.code, error.operation]),
      );
    });
    const info = await adapter.get(handle);
    expect(seen).toEqual([[{ provider: 'fake', operation: 'get' } satisfies ObservedCall, info]]);
    await adapter.destroy(handle).catch(() => {});
    await adapter.readFile(handle, '/x').catch(() => {});
    await adapter.create('').catch(() => {});
    expect(seen.slice(1)).toEqual([
      [{ provider: 'fake', operation: 'destroy' }, 'provider', 'destroy'],
      [{ provider: 'fake', operation: 'readFile' }, 'not_supported', 'readFile'],
      [{ provider: 'fake', operation: 'create' }, 'invalid', 'create'],
    ]);
  });

  test('gives the async context of the call', async () => {
    const adapter = adapterSeenBy((_, work) => void context.run('of the observer', work));
    await expect(adapter.get(handle)).resolves.toEqual({ status: 'running', raw: 'of the observer' });
  });

  test.each<[what: string, observe: CallObserver['observe']]>([
    ['throws before the call', () => failed()],
    ['throws after it began the call', (_, work) => (work(), failed())],
    ['begins it twice', (_, work) => void (work(), work())],
    ['does not begin it', () => {}],
  ])('that %s changes nothing', async (_, observe) => {
    const adapter = adapterSeenBy(observe);
    await expect(adapter.get(handle)).resolves.toMatchObject({ status: 'running' });
    expect(adapter.gets).toBe(1);
    await expect(adapter.exec(handle, 'true')).rejects.toMatchObject({ code: 'unavailable', detail: 'timeout' });
  });

  test('gives way to the next one, and to nobody', async () => {
    const seen: string[] = [];
    const adapter = adapterSeenBy(() => seen.push('first'));
    adapter.observe({ observe: () => seen.push('second') });
    await adapter.get(handle);
    adapter.observe(undefined);
    await adapter.get(handle);
    expect(seen).toEqual(['second']);
  });
});

function failed(): never {
  throw new Error('the observer failed');
}
