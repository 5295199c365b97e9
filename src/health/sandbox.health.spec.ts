import type { AddressInfo } from 'node:net';
import { Controller, Get, Injectable, Module, type INestApplication, type Type } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TerminusModule, type HealthCheckResult } from '@nestjs/terminus';
import { Test } from '@nestjs/testing';
import { afterEach, describe, expect, test } from '@jest/globals';
import { SandboxAdapter, SandboxError, type SandboxCapability } from '#libs/contract';
import { LocalRunnerHost, RunnerAdapter, RunnerGateway, RunnerModule, RunnerWsAdapter } from '../runner/index.js';
import { SandboxModule } from '../sandbox/sandbox.module.js';
import { SandboxHealthIndicator, type SandboxHealthOptions } from './sandbox.health.js';

const unable = (): Promise<never> => Promise.reject(new SandboxError('not_supported'));

/** An account whose listing does what `answer` does. */
class AccountAdapter extends SandboxAdapter {
  override readonly capabilities = new Set<SandboxCapability>();
  answer: (signal: AbortSignal | undefined) => Promise<string[]> = async () => [];

  constructor() {
    super('account');
  }

  protected override async doListAllNames({ signal }: { signal?: AbortSignal }): Promise<string[]> {
    return this.answer(signal);
  }
  protected override doCreate = unable;
  protected override doGet = unable;
  protected override doDestroy = unable;
  protected override doWriteFile = unable;
  protected override doExec = unable;
  protected override doSpawn = unable;
}

/** A host with runners that are not there, or with a fault. */
@Injectable()
class ScriptedHost extends LocalRunnerHost {
  answer: () => Promise<readonly (readonly [string, unknown])[]> = async () => [];

  override online(): Promise<readonly (readonly [string, unknown])[]> {
    return this.answer();
  }
}

let options: SandboxHealthOptions = {};

@Controller('health')
class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly sandbox: SandboxHealthIndicator,
  ) {}

  @Get()
  @HealthCheck()
  check(): Promise<HealthCheckResult> {
    return this.health.check([() => this.sandbox.isHealthy('sandbox', options)]);
  }
}

const apps: INestApplication[] = [];
const logs: string[] = [];
const record = (text: unknown): void => void logs.push(String(text));

afterEach(async () => {
  options = {};
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

async function start(imports: NonNullable<Parameters<typeof Module>[0]['imports']>): Promise<INestApplication> {
  @Module({
    imports: [TerminusModule, ...imports],
    controllers: [HealthController],
    providers: [SandboxHealthIndicator],
  })
  class HealthModule {}
  const module = await Test.createTestingModule({ imports: [HealthModule] })
    .setLogger({ log: () => {}, error: () => {}, warn: () => {} })
    .compile();
  const app = module.createNestApplication();
  app.useWebSocketAdapter(new RunnerWsAdapter(app));
  await app.listen(0, '127.0.0.1');
  logs.length = 0;
  app.useLogger({ log: record, error: () => {}, warn: record });
  apps.push(app);
  return app;
}

async function page(app: INestApplication): Promise<{ status: number; sandbox: unknown }> {
  const { port } = (app.getHttpServer() as { address(): unknown }).address() as AddressInfo;
  const response = await fetch(`http://127.0.0.1:${port}/health`);
  const body = (await response.json()) as { details?: { sandbox?: unknown } };
  return { status: response.status, sandbox: body.details?.sandbox };
}

/** Of `runner` by a scripted host, and of `account`. */
async function startBoth(): Promise<{ app: INestApplication; host: ScriptedHost; account: AccountAdapter }> {
  const host = new ScriptedHost();
  const account = new AccountAdapter();
  const app = await start([
    RunnerModule.forRoot({ host: { useValue: host }, drainMs: 0 }),
    SandboxModule.forRoot({ adapters: { runner: RunnerAdapter, account: { useValue: account } } }),
  ]);
  return { app, host, account };
}

describe('SandboxHealthIndicator', () => {
  test('is up with the number of runners online, none included', async () => {
    const { app, host } = await startBoth();
    await expect(page(app)).resolves.toEqual({ status: 200, sandbox: { status: 'up', runners: 0, draining: false } });
    host.answer = async () => [
      ['a', 'secret'],
      ['b', 'secret'],
    ];
    await expect(page(app)).resolves.toEqual({ status: 200, sandbox: { status: 'up', runners: 2, draining: false } });
  });

  test.each<[what: string, answer: ScriptedHost['answer'], why: string]>([
    ['fails', () => Promise.reject(new RangeError('secret')), 'RangeError'],
    ['refuses', () => Promise.reject(new SandboxError('denied', { message: 'secret' })), 'denied'],
    ['does not answer', () => new Promise(() => {}), 'no answer within 20 ms'],
  ])('is down while the host of runners %s, and says why in the log alone', async (_, answer, why) => {
    const { app, host } = await startBoth();
    options = { timeoutMs: 20 };
    host.answer = answer;
    const down = { status: 503, sandbox: { status: 'down', draining: false } };
    await expect(page(app)).resolves.toEqual(down);
    await expect(page(app)).resolves.toEqual(down);
    host.answer = async () => [];
    await expect(page(app)).resolves.toMatchObject({ status: 200 });
    expect(logs).toEqual([`the host of runners is down: ${why}`, 'the host of runners is up again']);
  });

  test('is down from the beginning of a drain on', async () => {
    const { app } = await startBoth();
    await app.get(RunnerGateway).beforeApplicationShutdown();
    await expect(page(app)).resolves.toEqual({ status: 503, sandbox: { status: 'down', runners: 0, draining: true } });
  });

  test('asks the providers that it is told to ask', async () => {
    const { app, account } = await startBoth();
    account.answer = async () => ['secret'];
    options = { providers: ['runner', 'account'] };
    await expect(page(app)).resolves.toEqual({
      status: 200,
      sandbox: { status: 'up', runners: 0, draining: false, providers: { runner: 'up', account: 'up' } },
    });
    account.answer = () => Promise.reject(new SandboxError('denied', { message: 'secret' }));
    await expect(page(app)).resolves.toEqual({
      status: 503,
      sandbox: { status: 'down', runners: 0, draining: false, providers: { runner: 'up', account: 'down' } },
    });
    expect(logs).toEqual(['provider account is down: denied']);
  });

  test('lets a provider go that does not answer in time', async () => {
    const { app, account } = await startBoth();
    const signals: (AbortSignal | undefined)[] = [];
    account.answer = (signal) => (signals.push(signal), new Promise(() => {}));
    options = { providers: ['account'], timeoutMs: 20 };
    await expect(page(app)).resolves.toMatchObject({ sandbox: { status: 'down', providers: { account: 'down' } } });
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
  });

  test('needs no runners', async () => {
    const app = await start([SandboxModule.forRoot({ adapters: { account: AccountAdapter } })]);
    options = { providers: ['account'] };
    await expect(page(app)).resolves.toEqual({ status: 200, sandbox: { status: 'up', providers: { account: 'up' } } });
  });

  test.each<[what: string, imports: (() => unknown)[], options: SandboxHealthOptions, message: string]>([
    ['nothing to look at', [], {}, 'pass "providers", or import RunnerModule.forRoot()'],
    ['no SandboxModule', [], { providers: ['account'] }, 'import SandboxModule where the indicator is provided'],
    ['an unknown provider', [() => SandboxModule.forRoot()], { providers: ['account'] }, 'unknown sandbox provider'],
  ])('says what to do with %s', async (_, imports, given, message) => {
    const app = await start(imports.map((make) => make() as Type));
    await expect(app.get(SandboxHealthIndicator).isHealthy('sandbox', given)).rejects.toMatchObject({
      code: 'invalid',
      message: expect.stringContaining(message),
    });
  });
});
