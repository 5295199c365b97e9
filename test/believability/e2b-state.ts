import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Check } from './check.js';
import type { E2bBench } from './e2b-bench.js';

export function stateChecks({ sandbox, Sandbox, connection, emulator }: E2bBench): readonly Check[] {
  return [
    {
      title: 'a pause breaks a stream, keeps the process, and is told once',
      run: async () => {
        const handle = await sandbox.commands.run('exec sleep 100', { background: true });
        const ended = handle.wait().then(
          () => 'exit',
          () => 'broken',
        );
        strictEqual(await sandbox.pause(), true);
        strictEqual(await ended, 'broken');
        strictEqual(await sandbox.pause(), false);
        strictEqual((await sandbox.getInfo()).state, 'paused');
        await rejects(sandbox.commands.run('true'), { name: 'SandboxNotFoundError' });
        strictEqual(await sandbox.isRunning(), false);
      },
    },
    {
      title: 'a connect resumes it with its processes',
      run: async () => {
        const before = (await sandbox.getInfo()).startedAt;
        await sandbox.connect({ timeoutMs: 60_000 });
        const { state, startedAt } = await sandbox.getInfo();
        ok(state === 'running' && startedAt > before);
        const [sleeper] = await sandbox.commands.list();
        strictEqual(await sandbox.commands.kill(sleeper!.pid), true);
        strictEqual((await sandbox.commands.run('echo again')).stdout, 'again\n');
      },
    },
    {
      title: 'a paused one is listed among the paused',
      run: async () => {
        const other = await Sandbox.create({ ...connection, metadata: { name: 'parked' } });
        await other.pause();
        const query = { metadata: { name: 'parked' } };
        const states = async (wanted: string) => {
          return (await Sandbox.list({ ...connection, query: { ...query, state: [wanted] } }).nextItems()).length;
        };
        deepStrictEqual([await states('paused'), await states('running')], [1, 0]);
        const again = await Sandbox.connect(other.sandboxId, { ...connection });
        deepStrictEqual([await states('paused'), await states('running')], [0, 1]);
        strictEqual(await again.kill(), true);
      },
    },
    {
      title: 'at the end of its time a sandbox is killed',
      run: async () => {
        const brief = await Sandbox.create({ ...connection, timeoutMs: 1_000 });
        await emulator.expire(brief.sandboxId);
        await rejects(brief.getInfo(), { name: 'SandboxNotFoundError' });
      },
    },
    {
      title: 'a snapshot is a template for new sandboxes with the same files',
      run: async () => {
        await sandbox.files.write('state', 'before');
        const { snapshotId } = await sandbox.createSnapshot();
        await sandbox.files.write('state', 'after');
        const restored = await Sandbox.create({ ...connection, template: snapshotId });
        deepStrictEqual([await restored.files.read('state'), await sandbox.files.read('state')], ['before', 'after']);
        await restored.kill();
      },
    },
    {
      title: 'a port of a sandbox is reached by the routing headers',
      run: async () => {
        const server = createServer((_, response) => response.end('served')).listen(0, '127.0.0.1');
        await once(server, 'listening');
        const { port } = server.address() as AddressInfo;
        const headers = { 'e2b-sandbox-id': sandbox.sandboxId, 'e2b-sandbox-port': String(port) };
        strictEqual(await (await fetch(emulator.url, { headers })).text(), 'served');
        server.close();
        server.closeAllConnections();
      },
    },
    {
      title: 'no call into a sandbox carried the API key, and no credential was recorded',
      run: async () => {
        strictEqual(emulator.sandbox(sandbox.sandboxId)!.apiKeysSeen, 0);
        await Promise.resolve(ok(!JSON.stringify(emulator.calls.all).includes(emulator.apiKey)));
      },
    },
  ];
}
