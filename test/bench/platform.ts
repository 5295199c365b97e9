import { randomBytes, randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { Module, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { SandboxModule, SandboxService, type SandboxHandle } from 'nestjs-sandbox';
import { RunnerAdapter, RunnerHost, RunnerModule, RunnerWsAdapter, runnerSandboxName } from 'nestjs-sandbox/runner';
import { until } from '../support/until.js';
import type { BenchmarkContext } from './benchmark.js';
import { startDaemon } from './daemon.js';

/** The library as an application has it, listening on loopback. */
export interface Platform {
  readonly app: INestApplication;
  readonly url: string;
  readonly sandboxes: SandboxService;
  readonly host: RunnerHost;
}

export interface Runner {
  readonly id: string;
  readonly token: string;
}

@Module({})
class BenchModule {}

export function mintRunners(count: number): Runner[] {
  return Array.from({ length: count }, () => ({ id: randomUUID(), token: randomBytes(32).toString('base64url') }));
}

export async function startPlatform(runners: readonly Runner[]): Promise<Platform> {
  const tokens = runners.map(({ id, token }) => `${id}:${token}`).join('\n');
  const imports = [
    RunnerModule.forRoot({ tokens, drainMs: 1_000 }),
    SandboxModule.forRoot({ adapters: { runner: RunnerAdapter } }),
  ];
  const app = await NestFactory.create({ module: BenchModule, imports }, { logger: ['error', 'fatal'] });
  app.useWebSocketAdapter(new RunnerWsAdapter(app));
  await app.listen(0, '127.0.0.1');
  const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
  return { app, url: `http://127.0.0.1:${port}`, sandboxes: app.get(SandboxService), host: app.get(RunnerHost) };
}

/** A platform in this process with that many daemons in processes of their own, and a sandbox on each. */
export async function startRunners(
  context: BenchmarkContext,
  count: number,
  { nice = false } = {},
): Promise<{ platform: Platform; handles: readonly SandboxHandle[] }> {
  const runners = mintRunners(count);
  const platform = await startPlatform(runners);
  context.defer('Closing the platform', () => platform.app.close());
  const daemons = await Promise.all(runners.map(({ token }) => startDaemon(context, platform.url, token, nice)));
  await until(
    'every daemon is online',
    async () => {
      if (daemons.some((daemon) => daemon.hasEnded)) throw new Error('a daemon ended before it was online');
      return (await platform.host.online()).length === count;
    },
    { withinMs: 30_000 + count * 2_000 },
  );
  const create = (runner: Runner): Promise<SandboxHandle> =>
    platform.sandboxes.create('runner', runnerSandboxName(runner.id));
  return { platform, handles: await Promise.all(runners.map(create)) };
}
