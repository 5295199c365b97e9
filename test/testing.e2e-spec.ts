import { afterEach, describe, expect, test } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { SandboxModule, SandboxService } from 'nestjs-sandbox';
import { LocalRunnerHost, RunnerAdapter, runnerSandboxName } from 'nestjs-sandbox/runner';
import { FakeAdapter, FakeDaemon } from 'nestjs-sandbox/testing';
import { TestApp } from './support/nest-app.js';
import { RUNNER_ID, RUNNER_TOKEN } from './support/runners.js';

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).toReversed()) await one.close();
});

describe('without a network', () => {
  test('a Nest application runs against the fake', async () => {
    const fake = new FakeAdapter({ script: (cmd) => (cmd === 'npm' ? ['out:12 passed\n', 'exit:1'] : ['exit:0']) });
    const module = await Test.createTestingModule({
      imports: [SandboxModule.forRoot({ adapters: { cloud: { useValue: fake } } })],
    }).compile();
    open.push(module);
    const sandboxes = module.get(SandboxService);
    const box = await sandboxes.create('cloud', 'box');
    expect(box).toEqual({ provider: 'cloud', name: 'box' });
    await sandboxes.writeFile(box, 'package.json', '{}');
    const { exitCode, output } = await sandboxes.exec(box, 'npm', ['test']);
    expect([exitCode, Buffer.from(output).toString()]).toEqual([1, '12 passed\n']);
    expect(fake.file('box', 'package.json')?.toString()).toBe('{}');
  });

  test('an adapter for runners works over a daemon in memory', async () => {
    const host = new LocalRunnerHost();
    const daemon = new FakeDaemon({ instance: 'd-1' });
    open.push(daemon);
    const link = daemon.connect({ runnerId: RUNNER_ID, registry: host });
    const runners = new RunnerAdapter(host);
    const box = runners.buildHandle(runnerSandboxName(RUNNER_ID));
    await link.request('create', { name: box.name });
    expect(await host.whereis(RUNNER_ID)).toBe(link);
    expect(await runners.exec(box, 'out:a', ['err:b', 'exit:3'])).toMatchObject({ exitCode: 3 });
    const echoed = await runners.exec(box, 'stay', [], { stdin: 'in' });
    expect([echoed.exitCode, echoed.text()]).toEqual([0, 'echo:in']);
    const slow = runners.exec(box, 'stay', [], { timeoutMs: 50 });
    await expect(slow).rejects.toMatchObject({ code: 'unavailable', detail: 'timeout', effect: 'done' });
    const command = await runners.spawn(box, 'stay', [], { detachable: true });
    daemon.cut();
    await expect(command.exit).rejects.toMatchObject({ code: 'unavailable', detail: 'runner_disconnected' });
    await expect(runners.get(box)).rejects.toMatchObject({ code: 'unavailable', detail: 'runner_offline' });
  });
});

describe.each([
  ['a fake daemon', 'd-1'],
  ['a fake daemon of another make', undefined],
])('%s at a real gateway', (_, instance) => {
  test('serves a Nest application, loses its socket and comes back', async () => {
    const app = await TestApp.start();
    const daemon = new FakeDaemon({ name: 'box', ...(instance !== undefined && { instance }) });
    open.push(app, daemon);
    await daemon.dial({ url: app.url, token: RUNNER_TOKEN });
    await app.online(RUNNER_ID);
    const box = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
    const command = await app.sandboxes.spawn(box, 'out:a', ['stay', 'exit:4'], { stdin: true, detachable: true });
    await daemon.seen('spawn');
    daemon.cut();
    await expect(command.exit).rejects.toMatchObject({ code: 'unavailable', detail: 'runner_disconnected' });
    await app.offline(RUNNER_ID);
    await daemon.dial({ url: app.url, token: RUNNER_TOKEN });
    await app.online(RUNNER_ID);
    const [session] = await app.sandboxes.listSessions(box);
    const again = await app.sandboxes.attach(box, session?.id ?? '', { stdin: true });
    await again.writeStdin('b');
    await again.closeStdin();
    let stdout = '';
    const exit = await again.forEach(({ data }) => void (stdout += Buffer.from(data).toString()));
    expect([stdout, exit]).toEqual(['aecho:b', { exitCode: 4 }]);
  });
});
