import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert/strict';
import type { Check } from './check.js';
import type { DaytonaBench } from './daytona-bench.js';
import type { SdkSandbox } from './daytona-sdk.js';

async function all(list: AsyncIterable<SdkSandbox>): Promise<SdkSandbox[]> {
  const found: SdkSandbox[] = [];
  for await (const sandbox of list) found.push(sandbox);
  return found;
}

export function managementChecks({ client, sandbox, emulator }: DaytonaBench): readonly Check[] {
  return [
    {
      title: 'a sandbox is created, waited for and found by its name',
      run: async () => {
        const [asked] = emulator.calls.matching({ method: 'POST', path: '/api/sandbox' });
        strictEqual((asked!.json as { name: string }).name, 'bench');
        strictEqual(sandbox.state, 'started');
        deepStrictEqual(sandbox.labels, { 'code-toolbox-language': 'python' });
        const found = await client.get('bench');
        deepStrictEqual([found.id, found.name, found.state], [sandbox.id, 'bench', 'started']);
      },
    },
    {
      title: 'a name that is taken is a conflict',
      run: async () => {
        const again = client.create({ name: 'bench' });
        await rejects(again, { name: 'DaytonaConflictError', message: 'Sandbox with name bench already exists' });
      },
    },
    {
      title: 'a snapshot that nobody knows is a bad request, a sandbox that nobody knows is not found',
      run: async () => {
        await rejects(client.create({ snapshot: 'none' }), { statusCode: 400 });
        await rejects(client.get('none'), { name: 'DaytonaNotFoundError', statusCode: 404 });
      },
    },
    {
      title: 'a create from an image builds it',
      run: async () => {
        const built = await client.create({ name: 'built', image: 'debian:12', resources: { cpu: 2 } });
        deepStrictEqual([built.state, built.cpu], ['started', 2]);
        await client.delete(built, 60, true);
      },
    },
    {
      title: 'the listing is followed over its pages and filtered by labels',
      run: async () => {
        for (const name of ['p1', 'p2', 'p3']) await client.create({ name, labels: { page: 'yes' } });
        const listed = await all(client.list({ labels: { page: 'yes' } }));
        deepStrictEqual(listed.map(({ name }) => name).toSorted(), ['p1', 'p2', 'p3']);
        const pages = emulator.calls.matching({ method: 'GET', path: '/api/sandbox' });
        ok(pages.at(-1)!.query.get('cursor'));
      },
    },
    {
      title: 'labels and intervals are set',
      run: async () => {
        deepStrictEqual(await sandbox.setLabels({ a: 'b' }), { a: 'b' });
        await sandbox.setAutostopInterval(0);
        await sandbox.refreshData();
        deepStrictEqual(sandbox.labels, { a: 'b' });
      },
    },
    {
      title: 'a network policy is set and told of',
      run: async () => {
        await sandbox.updateNetworkSettings({ networkBlockAll: true, domainAllowList: 'example.com,*.example.org' });
        deepStrictEqual(emulator.sandbox('bench')!.network, {
          networkBlockAll: true,
          networkAllowList: '',
          domainAllowList: 'example.com,*.example.org',
        });
        deepStrictEqual([sandbox.networkBlockAll, sandbox.domainAllowList], [true, 'example.com,*.example.org']);
        await rejects(sandbox.updateNetworkSettings({ domainAllowList: 'a b' }), { statusCode: 400 });
      },
    },
    {
      title: 'previews have a token, and signed ones can be taken back',
      run: async () => {
        const { url, token } = await sandbox.getPreviewLink(3000);
        match(url, new RegExp(`^https://3000-${sandbox.id}\\.`));
        match(token, /^[a-z0-9]{32}$/);
        const signed = await sandbox.getSignedPreviewUrl(3000, 60);
        match(signed.token, /^[a-z0-9]{16}$/);
        await sandbox.expireSignedPreviewUrl(3000, signed.token);
      },
    },
  ];
}
