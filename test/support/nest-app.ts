import type { AddressInfo } from 'node:net';
import type { INestApplication, LoggerService } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import { Test } from '@nestjs/testing';
import {
  RunnerAdapter,
  RunnerGateway,
  RunnerHost,
  RunnerModule,
  RunnerWsAdapter,
  type RunnerModuleOptions,
} from '../../src/runner/index.js';
import { SandboxModule, SandboxService } from '../../src/index.js';
import { RecordingHost } from './recording-host.js';
import { OTHER_RUNNER_ID, OTHER_RUNNER_TOKEN, RUNNER_ID, RUNNER_TOKEN } from './runners.js';
import { until } from './until.js';

export interface TestAppOptions {
  readonly runners?: Omit<RunnerModuleOptions, 'tokens' | 'host'>;
  /** Nest's own adapter instead of the package's. @default false */
  readonly stockWsAdapter?: boolean;
  /** Makes the adapter, for tests that watch its sockets. @default the package's */
  readonly wsAdapter?: (app: INestApplication) => WsAdapter;
}

/** The library as an application has it: Nest, a port on loopback, real sockets; the host of runners records. */
export class TestApp {
  private constructor(
    readonly app: INestApplication,
    readonly host: RecordingHost,
    /** Everything that was logged, at every level. */
    readonly logs: readonly string[],
  ) {}

  static async start({ runners = {}, stockWsAdapter = false, wsAdapter }: TestAppOptions = {}): Promise<TestApp> {
    const host = new RecordingHost();
    const logs: string[] = [];
    const module = await Test.createTestingModule({
      imports: [
        RunnerModule.forRoot({
          ...runners,
          tokens: `${RUNNER_ID}:${RUNNER_TOKEN},${OTHER_RUNNER_ID}:${OTHER_RUNNER_TOKEN}`,
        }),
        SandboxModule.forRoot({ adapters: { runner: RunnerAdapter } }),
      ],
    })
      .overrideProvider(RunnerHost)
      .useValue(host)
      .setLogger(recordingLogger(logs))
      .compile();
    const app = module.createNestApplication();
    app.useWebSocketAdapter(wsAdapter?.(app) ?? (stockWsAdapter ? new WsAdapter(app) : new RunnerWsAdapter(app)));
    app.enableShutdownHooks([]);
    await app.listen(0, '127.0.0.1');
    return new TestApp(app, host, logs);
  }

  get port(): number {
    return ((this.app.getHttpServer() as { address(): unknown }).address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get sandboxes(): SandboxService {
    return this.app.get(SandboxService);
  }

  get gateway(): RunnerGateway {
    return this.app.get(RunnerGateway);
  }

  /** Resolves once that runner is registered. */
  async online(runnerId: string, withinMs = 30_000): Promise<void> {
    await until(`${runnerId} is online`, () => this.isOnline(runnerId), { withinMs });
  }

  async offline(runnerId: string, withinMs = 30_000): Promise<void> {
    await until(`${runnerId} is offline`, async () => !(await this.isOnline(runnerId)), { withinMs });
  }

  async isOnline(runnerId: string): Promise<boolean> {
    return (await this.host.online()).some(([id]) => id === runnerId);
  }

  async close(): Promise<void> {
    await this.app.close();
  }
}

function recordingLogger(logs: string[]): LoggerService {
  const record =
    (level: string) =>
    (...parts: unknown[]): void => {
      logs.push(
        `${level} ${parts.map((part) => (part instanceof Error ? String(part.stack) : String(part))).join(' ')}`,
      );
    };
  return {
    log: record('log'),
    error: record('error'),
    warn: record('warn'),
    debug: record('debug'),
    verbose: record('verbose'),
    fatal: record('fatal'),
  };
}
