import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import type { INestApplication, LogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { SandboxService } from 'nestjs-sandbox';
import { RunnerHost, RunnerWsAdapter } from 'nestjs-sandbox/runner';
import type { PlatformHost } from './platform-host.js';
import { PlatformModule } from './platform.module.js';
import { StderrLogger } from './stderr-logger.js';

export interface PlatformOptions {
  /** @default '127.0.0.1' */
  readonly host?: string;
  /** 0 takes a free one. @default 0 */
  readonly port?: number;
  /** `<runner uuid>:<token>` entries. @default those of the environment's `RUNNER_TOKENS` */
  readonly runnerTokens?: string;
  /** @default all of Nest's */
  readonly logLevels?: LogLevel[];
}

/** A platform that listens. */
export interface Platform {
  readonly app: INestApplication;
  /** Where it listens: the base to which daemons dial. */
  readonly url: string;
  readonly sandboxes: SandboxService;
  readonly host: PlatformHost;
}

/** Starts the server. `app.close()` drains and ends it. */
export async function createPlatform(options: PlatformOptions = {}): Promise<Platform> {
  const { host = '127.0.0.1', port = 0, runnerTokens, logLevels } = options;
  const app = await NestFactory.create(PlatformModule.register(runnerTokens), {
    logger: new StderrLogger({ ...(logLevels && { logLevels }) }),
    abortOnError: false,
  });
  app.useWebSocketAdapter(new RunnerWsAdapter(app));
  try {
    await app.listen(port, host);
  } catch (error) {
    await app.close();
    throw error;
  }
  return {
    app,
    url: urlOf((app.getHttpServer() as Server).address() as AddressInfo),
    sandboxes: app.get(SandboxService),
    host: app.get<PlatformHost>(RunnerHost),
  };
}

function urlOf({ address, family, port }: AddressInfo): string {
  const local = address === '::' || address === '0.0.0.0' ? '127.0.0.1' : address;
  return `http://${family === 'IPv6' && local === address ? `[${local}]` : local}:${port}`;
}
