import { AsyncLocalStorage } from 'node:async_hooks';
import { Global, Module, type INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  context,
  trace,
  type ContextManager,
  type Meter,
} from '@opentelemetry/api';
import { DataPointType, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { SandboxInfo } from '#libs/contract';
import { FakeAdapter } from '#libs/testing';
import { RunnerAdapter, RunnerModule, RunnerWsAdapter } from '../runner/index.js';
import type { RunnerGatewayStats } from '../runner/runner-stats.js';
import { RUNNER_STATS } from '../runner/runner.tokens.js';
import { SandboxModule } from '../sandbox/sandbox.module.js';
import { SandboxService } from '../sandbox/sandbox.service.js';
import type { SandboxOpenTelemetryOptions } from './otel.options.js';
import { SandboxOpenTelemetryModule } from './sandbox-open-telemetry.module.js';

/** Read when a test asks. */
class PullReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

const storage = new AsyncLocalStorage<ReturnType<ContextManager['active']>>();
const contextManager: ContextManager = {
  active: () => storage.getStore() ?? ROOT_CONTEXT,
  with: (active, fn, thisArg, ...args) => storage.run(active, () => fn.apply(thisArg as never, args)),
  bind: (_, target) => target,
  enable: () => contextManager,
  disable: () => contextManager,
};

/** Makes a span of its own inside `get`, as an instrumented HTTP client does. */
class TracedAdapter extends FakeAdapter {
  protected override async doGet(...args: Parameters<FakeAdapter['doGet']>): Promise<SandboxInfo> {
    tracers.getTracer('client').startSpan('request').end();
    return super.doGet(...args);
  }
}

let spans: InMemorySpanExporter;
let tracers: BasicTracerProvider;
let reader: PullReader;
let meterProvider: MeterProvider;
const apps: INestApplication[] = [];

beforeAll(() => void context.setGlobalContextManager(contextManager));
afterAll(() => context.disable());
beforeEach(() => {
  spans = new InMemorySpanExporter();
  tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
  reader = new PullReader();
  meterProvider = new MeterProvider({ readers: [reader] });
});
afterEach(async () => {
  await Promise.all(apps.splice(0).map((app) => app.close()));
});

async function start(
  options: SandboxOpenTelemetryOptions = {},
  imports: NonNullable<Parameters<typeof Module>[0]['imports']> = [],
): Promise<SandboxService> {
  const module = await Test.createTestingModule({
    imports: [
      SandboxModule.forRoot({ adapters: { fake: TracedAdapter, runner: RunnerAdapter } }),
      SandboxOpenTelemetryModule.forRoot({ tracerProvider: tracers, meterProvider, ...options }),
      ...imports,
    ],
  }).compile();
  const app = module.createNestApplication();
  app.useWebSocketAdapter(new RunnerWsAdapter(app));
  await app.init();
  apps.push(app);
  return app.get(SandboxService);
}

/** `[attributes, value]` of every point of a metric; a histogram's value is its count. */
async function points(name: string): Promise<[object, number][]> {
  const { resourceMetrics, errors } = await reader.collect();
  expect(errors).toEqual([]);
  const metric = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics).find((m) => m.descriptor.name === name);
  if (metric === undefined) return [];
  return metric.dataPointType === DataPointType.HISTOGRAM
    ? metric.dataPoints.map(({ attributes, value }) => [attributes, value.count])
    : metric.dataPoints.map(({ attributes, value }) => [attributes, value as number]);
}

function spanNamed(name: string): ReadableSpan {
  const found = spans.getFinishedSpans().filter((span) => span.name === name);
  expect(found).toHaveLength(1);
  return found[0] as ReadableSpan;
}

describe('a call', () => {
  test('that succeeds is a span and counts as ok', async () => {
    const service = await start();
    const handle = await service.create('fake', 'box');
    await service.exec(handle, 'run', ['exit:7']);
    const attributes = { 'sandbox.provider': 'fake', 'sandbox.operation': 'exec', 'sandbox.code': 'ok' };
    const span = spanNamed('sandbox.exec');
    expect([span.kind, span.attributes, span.status]).toEqual([
      SpanKind.CLIENT,
      attributes,
      { code: SpanStatusCode.UNSET },
    ]);
    expect(await points('sandbox.calls')).toEqual([
      [{ ...attributes, 'sandbox.operation': 'create' }, 1],
      [attributes, 1],
    ]);
    expect(await points('sandbox.call.duration')).toEqual([
      [{ ...attributes, 'sandbox.operation': 'create' }, 1],
      [attributes, 1],
    ]);
  });

  test('that fails tells code and effect, and its span the detail', async () => {
    const service = await start();
    const handle = await service.create('fake', 'box');
    await expect(service.exec(handle, 'run', ['out:x', 'drop'])).rejects.toMatchObject({ code: 'unavailable' });
    const attributes = {
      'sandbox.provider': 'fake',
      'sandbox.operation': 'exec',
      'sandbox.code': 'unavailable',
      'sandbox.effect': 'unknown',
    };
    const span = spanNamed('sandbox.exec');
    expect([span.attributes, span.status, span.events]).toEqual([
      { ...attributes, 'sandbox.detail': 'closed_before_exit' },
      { code: SpanStatusCode.ERROR, message: 'unavailable: closed_before_exit' },
      [],
    ]);
    expect(await points('sandbox.calls')).toContainEqual([attributes, 1]);
  });

  test('that is refused at once is seen as well', async () => {
    const service = await start();
    await expect(service.create('fake', '')).rejects.toMatchObject({ code: 'invalid' });
    expect(spanNamed('sandbox.create').attributes).toMatchObject({
      'sandbox.code': 'invalid',
      'sandbox.effect': 'none',
      'sandbox.detail': 'argument',
    });
  });

  test('is a child of the active span and the parent of what it does', async () => {
    const service = await start();
    const handle = await service.create('fake', 'box');
    const outer = tracers.getTracer('app').startSpan('outer');
    await context.with(trace.setSpan(context.active(), outer), () => service.get(handle));
    expect(spanNamed('sandbox.get').parentSpanContext?.spanId).toBe(outer.spanContext().spanId);
    expect(spanNamed('request').parentSpanContext?.spanId).toBe(spanNamed('sandbox.get').spanContext().spanId);
    expect(spanNamed('sandbox.create').parentSpanContext).toBeUndefined();
  });

  test('leaves nothing of its content', async () => {
    const service = await start();
    const handle = await service.create('fake', 'secret-name');
    await service.writeFile(handle, '/secret/path', 'secret content');
    await service.exec(handle, 'secret-cmd', ['out:secret output'], { env: { SECRET: 'secret value' }, dir: '/' });
    await service.exec(handle, 'x', ['drop'], { stdin: 'secret input' }).catch(() => {});
    await service.get({ ...handle, name: 'secret-other' }).catch(() => {});
    const told = spans
      .getFinishedSpans()
      .map(({ name, attributes, status, events }) => [name, attributes, status, events]);
    const { resourceMetrics } = await reader.collect();
    expect(told).toHaveLength(6);
    expect(JSON.stringify([told, resourceMetrics.scopeMetrics]).toLowerCase()).not.toContain('secret');
  });

  test('carries the attributes that the application gave', async () => {
    const service = await start({ attributes: { app: 'one' } });
    await service.create('fake', 'box');
    expect(spanNamed('sandbox.create').attributes).toMatchObject({ app: 'one' });
    expect(await points('sandbox.calls')).toMatchObject([[{ app: 'one' }, 1]]);
  });

  test('is not changed by a meter that fails', async () => {
    const broken = Object.create(meterProvider.getMeter('broken')) as Meter;
    broken.createCounter = () => ({ add: fail });
    const service = await start({ meterProvider: { getMeter: () => broken } });
    await expect(service.create('fake', 'box')).resolves.toMatchObject({ name: 'box' });
  });
});

describe('output', () => {
  const of = (provider: string) => ({ 'sandbox.provider': provider });

  test('of exec counts with both streams', async () => {
    const service = await start();
    const handle = await service.create('fake', 'box');
    expect(await points('sandbox.output')).toEqual([]);
    await service.exec(handle, 'run', ['out:12345', 'err:678']);
    expect(await points('sandbox.output')).toEqual([[of('fake'), 8]]);
  });

  test('of a running command counts as it arrives, and once', async () => {
    const service = await start();
    const handle = await service.create('fake', 'box');
    const command = await service.spawn(handle, 'run', ['out:123', 'stay'], { stdin: true });
    const frames = command[Symbol.asyncIterator]();
    await frames.next();
    expect(await points('sandbox.output')).toEqual([[of('fake'), 3]]);
    await command.writeStdin('45');
    await frames.next();
    expect(await points('sandbox.output')).toEqual([[of('fake'), 10]]);
    await command.closeStdin();
    await frames.next();
    await command.exit;
    expect(await points('sandbox.output')).toEqual([[of('fake'), 10]]);
  });

  test('of a command that was let go stays counted', async () => {
    const service = await start();
    const handle = await service.create('fake', 'box');
    const command = await service.spawn(handle, 'run', ['out:123', 'stay']);
    const frames = command[Symbol.asyncIterator]();
    await frames.next();
    await command.stop();
    await expect(command.exit).rejects.toMatchObject({ detail: 'detached' });
    expect(await points('sandbox.output')).toEqual([[of('fake'), 3]]);
  });
});

describe('the gateway', () => {
  const STATS: RunnerGatewayStats = {
    connections: 1,
    pendingAuthentications: 2,
    refused: 3,
    registrations: 4,
    pendingRequests: 5,
    unsentRequests: 6,
    sessions: 7,
    queuedBytes: 8,
    maxQueuedBytes: 9,
    draining: false,
  };
  let asked = 0;

  @Global()
  @Module({
    providers: [{ provide: RUNNER_STATS, useValue: { stats: () => (asked++, STATS) } }],
    exports: [RUNNER_STATS],
  })
  class CountingModule {}

  test.each([
    ['connections', 1],
    ['refusals', 3],
    ['registrations', 4],
    ['requests.pending', 5],
    ['requests.unsent', 6],
    ['sessions', 7],
    ['queue.size', 8],
    ['queue.max', 9],
  ])('gives sandbox.runner.%s', async (name, value) => {
    await start({ attributes: { app: 'one' } }, [CountingModule]);
    expect(await points(`sandbox.runner.${name}`)).toEqual([[{ app: 'one' }, value]]);
  });

  test('of RunnerModule is the one that is read', async () => {
    await start({}, [RunnerModule.forRoot()]);
    expect(await points('sandbox.runner.connections')).toEqual([[{}, 0]]);
  });

  test('is not needed', async () => {
    await start();
    expect(await points('sandbox.runner.connections')).toEqual([]);
  });

  test('is not asked again after the application has closed', async () => {
    await start({}, [CountingModule]);
    await apps.pop()?.close();
    asked = 0;
    await reader.collect();
    expect(asked).toBe(0);
  });
});

function fail(): never {
  throw new Error('the meter failed');
}
