import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert/strict';
import type { Check } from './check.js';
import type { E2bBench } from './e2b-bench.js';
import type { SdkInfo, SdkPaginator } from './e2b-sdk.js';

async function pages(paginator: SdkPaginator): Promise<SdkInfo[][]> {
  const all: SdkInfo[][] = [];
  while (paginator.hasNext) all.push(await paginator.nextItems());
  return all;
}

export function managementChecks({ Sandbox, connection, emulator }: E2bBench): readonly Check[] {
  return [
    {
      title: 'a sandbox is created with metadata and told of',
      run: async () => {
        const made = await Sandbox.create({ ...connection, metadata: { name: 'a=b&c d+%' }, timeoutMs: 60_000 });
        match(made.sandboxId, /^i[a-z0-9]{20}$/);
        const info = await made.getInfo();
        deepStrictEqual([info.state, info.metadata], ['running', { name: 'a=b&c d+%' }]);
        strictEqual(info.endAt.getTime() - info.startedAt.getTime() > 59_000, true);
        strictEqual(await made.isRunning(), true);
      },
    },
    {
      title: 'metadata that needs escaping is found by the filter, and by nothing that is near it',
      run: async () => {
        const find = async (name: string) =>
          (await pages(Sandbox.list({ ...connection, query: { metadata: { name } } }))).flat();
        strictEqual((await find('a=b&c d+%')).length, 1);
        strictEqual((await find('a=b&c d')).length, 0);
      },
    },
    {
      title: 'pages are followed by the header',
      run: async () => {
        for (const name of ['p1', 'p2', 'p3']) await Sandbox.create({ ...connection, metadata: { page: 'yes', name } });
        const seen = await pages(Sandbox.list({ ...connection, limit: 2, query: { metadata: { page: 'yes' } } }));
        deepStrictEqual(
          seen.map((page) => page.map(({ metadata }) => metadata['name'])),
          [['p3', 'p2'], ['p1']],
        );
      },
    },
    {
      title: 'the time to live is moved, rounded up to whole seconds',
      run: async () => {
        const made = await Sandbox.create({ ...connection, metadata: { name: 'timed' } });
        await made.setTimeout(30_500);
        const { endAt } = await made.getInfo();
        const leftMs = endAt.getTime() - Date.now();
        ok(leftMs > 29_000 && leftMs <= 31_000);
        deepStrictEqual(emulator.calls.matching({ path: '/sandboxes/:id/timeout' }).at(-1)!.json, { timeout: 31 });
      },
    },
    {
      title: 'a network policy is replaced',
      run: async () => {
        const made = await Sandbox.create({ ...connection, metadata: { name: 'closed' } });
        await made.updateNetwork({ allowOut: ['example.com'], denyOut: ['0.0.0.0/0'] });
        const { network } = emulator.sandbox(made.sandboxId)!;
        deepStrictEqual(network, { allowOut: ['example.com'], denyOut: ['0.0.0.0/0'] });
        await rejects(made.updateNetwork({ allowOut: ['example.com'] }), /0\.0\.0\.0/);
      },
    },
    {
      title: 'a killed sandbox is gone, and killing it again is false',
      run: async () => {
        const made = await Sandbox.create({ ...connection, metadata: { name: 'killed' } });
        strictEqual(await made.kill(), true);
        strictEqual(await Sandbox.kill(made.sandboxId, connection), false);
        await rejects(made.getInfo(), { name: 'SandboxNotFoundError' });
        strictEqual(await made.isRunning(), false);
      },
    },
    {
      title: 'a wrong key is refused',
      run: async () => {
        await rejects(Sandbox.create({ ...connection, apiKey: `e2b_${'1'.repeat(40)}` }), {
          name: 'AuthenticationError',
        });
      },
    },
  ];
}
