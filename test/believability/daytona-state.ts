import { deepStrictEqual, notStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import type { Check } from './check.js';
import { until, type DaytonaBench } from './daytona-bench.js';

export function stateChecks({ Daytona, client, sandbox, emulator }: DaytonaBench): readonly Check[] {
  return [
    {
      title: 'a stop ends the processes and keeps the disk, a start rotates the preview token',
      run: async () => {
        const before = await sandbox.getPreviewLink(80);
        await sandbox.process.executeCommand('echo kept >kept');
        await sandbox.stop();
        strictEqual(sandbox.state, 'stopped');
        deepStrictEqual(emulator.sandbox('bench')!.pids, []);
        await rejects(sandbox.process.executeCommand('true'), { statusCode: 400 });
        await sandbox.start();
        strictEqual(sandbox.state, 'started');
        strictEqual((await sandbox.process.executeCommand('cat kept')).result, 'kept\n');
        deepStrictEqual(await sandbox.process.listSessions(), []);
        notStrictEqual((await sandbox.getPreviewLink(80)).token, before.token);
      },
    },
    {
      title: 'an archived sandbox is restored by a start',
      run: async () => {
        await sandbox.stop(60, true);
        await sandbox.archive();
        await until(() => emulator.sandbox('bench')!.state === 'archived');
        await sandbox.start();
        strictEqual((await sandbox.process.executeCommand('cat kept')).result, 'kept\n');
      },
    },
    {
      title: 'a sandbox is resized',
      run: async () => {
        await sandbox.resize({ cpu: 2 });
        strictEqual(sandbox.cpu, 2);
      },
    },
    {
      title: 'a snapshot is taken, told of, made a sandbox of and deleted',
      run: async () => {
        await sandbox.createSnapshot('team/kept:1');
        const snapshot = await client.snapshot.get('team/kept:1');
        strictEqual(snapshot.state, 'active');
        const copy = await client.create({ name: 'copy', snapshot: 'team/kept:1' });
        notStrictEqual(copy.id, sandbox.id);
        strictEqual((await copy.process.executeCommand('cat kept')).result, 'kept\n');
        await client.snapshot.delete(snapshot);
        await until(async () => (await client.snapshot.list()).total === 3);
      },
    },
    {
      title: 'a sandbox is deleted, and its name is free again',
      run: async () => {
        const copy = await client.get('copy');
        await client.delete(copy, 60, true);
        await rejects(client.get(copy.id), { name: 'DaytonaNotFoundError' });
        const again = await client.create({ name: 'copy' });
        notStrictEqual(again.id, copy.id);
      },
    },
    {
      title: 'without its channel of events the SDK polls',
      run: async () => {
        await using listening = new Daytona({ apiKey: emulator.token, apiUrl: emulator.url });
        const polled = await listening.create({ name: 'polled' });
        await polled.stop();
        strictEqual(polled.state, 'stopped');
        ok(emulator.calls.matching({ path: '/api/socket.io/', upgrade: true }).length > 0);
        await listening.delete(polled, 60, true);
      },
    },
    {
      title: 'a sandbox that fails to start says why',
      run: async () => {
        emulator.failNext('create', { reason: 'no runner has room' });
        await rejects(client.create({ name: 'broken' }), /no runner has room/);
      },
    },
  ];
}
