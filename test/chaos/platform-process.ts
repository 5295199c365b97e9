// The platform with its callers, in a process of its own so that it can be killed.
import 'reflect-metadata';
import { getEventListeners, setMaxListeners } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Injectable, Module, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { SandboxModule, SandboxService } from 'nestjs-sandbox';
import {
  LocalRunnerHost,
  RunnerAdapter,
  RunnerGateway,
  RunnerHost,
  RunnerModule,
  RunnerWsAdapter,
} from 'nestjs-sandbox/runner';
import { RunnerConnection } from '#libs/protocol';
import { Callers } from './callers.js';
import { PLATFORM_TIMES, STOP_TIMEOUT_MS } from './bounds.js';
import type { FromPlatform, PlatformSetup, Runner, ToPlatform } from './messages.js';
import { Outbox } from './outbox.js';
import { leftOver, resources } from './resources.js';

const outbox = new Outbox();
const warnings: string[] = [];
const abort = new AbortController();
// Every call of every story listens to it at the same time; what is left at the end is counted.
setMaxListeners(0, abort.signal);
const send = (message: FromPlatform): void => outbox.send(message);

process.on('warning', ({ name, message }) => warnings.push(`${name}: ${message}`));
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error: unknown) => {
    outbox.evidence({ type: 'failure', what: `${event} in the platform: ${String((error as Error)?.stack ?? error)}` });
  });
}

@Module({})
class ChaosModule {}

let started:
  { readonly app: INestApplication; readonly callers: Callers; readonly runners: readonly Runner[] } | undefined;
/** What there is without an application. */
let before: readonly string[] = [];

async function begin(setup: PlatformSetup): Promise<void> {
  before = resources();
  @Injectable()
  class WatchedHost extends LocalRunnerHost {
    override async presence(runnerId: string, state: 'online' | 'offline', meta: unknown): Promise<void> {
      await super.presence(runnerId, state, meta);
      const daemon = setup.runners.findIndex(({ id }) => id === runnerId);
      send({ type: 'presence', daemon, online: state === 'online', at: Date.now() });
    }
  }
  const imports = [
    RunnerModule.forRoot({
      tokens: setup.runners.map(({ id, token }) => `${id}:${token}`).join('\n'),
      host: WatchedHost,
      limits: { stopTimeoutMs: STOP_TIMEOUT_MS },
      ...PLATFORM_TIMES,
    }),
    SandboxModule.forRoot({ adapters: { runner: RunnerAdapter } }),
  ];
  const app = await NestFactory.create({ module: ChaosModule, imports }, { logger: ['error', 'fatal'] });
  app.useWebSocketAdapter(new RunnerWsAdapter(app));
  await app.listen(0, '127.0.0.1');
  const callers = new Callers(setup, app.get(SandboxService), outbox, abort.signal);
  started = { app, callers, runners: setup.runners };
  send({ type: 'listening', port: ((app.getHttpServer() as { address(): unknown }).address() as AddressInfo).port });
  callers.start();
}

async function close(): Promise<void> {
  await started?.app.close();
  send({ type: 'closed', resources: await leftOver(before), warnings });
  await outbox.flush();
  process.exit(0);
}

/** The callers are not asked: their calls end as those of an application that is shut down. */
async function terminate(): Promise<void> {
  await started?.app.close();
  await outbox.flush();
  process.exit(0);
}

async function take(message: ToPlatform): Promise<void> {
  if (message.type === 'begin') return begin(message.setup);
  if (message.type === 'close') return close();
  if (!started) return;
  const { app, callers, runners } = started;
  if (message.type === 'finish') {
    await callers.finish();
    send({ type: 'finished' });
  } else if (message.type === 'clear') {
    send({ type: 'cleared', left: await callers.clear() });
  } else {
    const listeners = getEventListeners(abort.signal, 'abort').length;
    const links = await Promise.all(runners.map(({ id }) => app.get(RunnerHost).whereis(id)));
    const connections = links.flatMap((link) => (link instanceof RunnerConnection ? [link.stats()] : []));
    send({ type: 'counted', stats: app.get(RunnerGateway).stats(), connections, listeners });
  }
}

// The terminal's Ctrl-C reaches this process too; whoever started it decides.
process.on('SIGINT', () => {});
process.once('SIGTERM', () => void terminate());
process.once('disconnect', () => process.exit(1));
process.on('message', (message) => {
  void take(message as ToPlatform).catch((error: unknown) => {
    outbox.evidence({ type: 'failure', what: `the platform: ${String((error as Error)?.stack ?? error)}` });
  });
});
