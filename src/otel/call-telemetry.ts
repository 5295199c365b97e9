import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import {
  SpanKind,
  SpanStatusCode,
  context,
  diag,
  metrics,
  trace,
  type Attributes,
  type Counter,
  type Histogram,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import { SandboxError, type ObservedCall } from '#libs/contract';
import { SandboxTelemetry } from '../sandbox/sandbox-telemetry.js';
import { OTEL_OPTIONS, SCOPE, type SandboxOpenTelemetryOptions } from './otel.options.js';
import { OutputMetric } from './output-metric.js';

/** From a look into memory to a long build, in seconds. */
const DURATION_BOUNDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800];

/**
 * A span and two metrics for each call, with provider, operation, code and effect. Names of sandboxes and files,
 * arguments, environments, output and messages are in neither.
 */
@Injectable()
export class CallTelemetry extends SandboxTelemetry implements OnApplicationShutdown {
  readonly #attributes: Attributes;
  readonly #tracer: Tracer;
  readonly #calls: Counter;
  readonly #durations: Histogram;
  readonly #output: OutputMetric;

  constructor(@Inject(OTEL_OPTIONS) options: SandboxOpenTelemetryOptions) {
    super();
    const { tracerProvider = trace, meterProvider = metrics, attributes = {} } = options;
    const meter = meterProvider.getMeter(SCOPE);
    this.#attributes = attributes;
    this.#tracer = tracerProvider.getTracer(SCOPE);
    this.#calls = meter.createCounter('sandbox.calls', { unit: '{call}', description: 'Calls that have ended' });
    this.#durations = meter.createHistogram('sandbox.call.duration', {
      unit: 's',
      description: 'From the beginning of a call to its result or error',
      advice: { explicitBucketBoundaries: DURATION_BOUNDS },
    });
    this.#output = new OutputMetric(meter, attributes);
  }

  override observe({ provider, operation }: ObservedCall, work: () => Promise<unknown>): void {
    const attributes = { ...this.#attributes, 'sandbox.provider': provider, 'sandbox.operation': operation };
    const startedAt = performance.now();
    const span = this.#tracer.startSpan(`sandbox.${operation}`, { kind: SpanKind.CLIENT, attributes });
    context
      .with(trace.setSpan(context.active(), span), work)
      .then(
        (result) => {
          this.#output.add(provider, result);
          this.#end(span, startedAt, { ...attributes, 'sandbox.code': 'ok' });
        },
        (error: unknown) => {
          describe(span, error);
          this.#end(span, startedAt, { ...attributes, ...outcome(error) });
        },
      )
      .catch((error: unknown) => diag.error('nestjs-sandbox: a call could not be recorded', error));
  }

  onApplicationShutdown(): void {
    this.#output.close();
  }

  #end(span: Span, startedAt: number, attributes: Attributes): void {
    span.setAttributes(attributes);
    span.end();
    this.#calls.add(1, attributes);
    this.#durations.record((performance.now() - startedAt) / 1_000, attributes);
  }
}

function outcome(error: unknown): Attributes {
  return error instanceof SandboxError
    ? { 'sandbox.code': error.code, 'sandbox.effect': error.effect }
    : { 'sandbox.code': 'provider', 'sandbox.effect': 'unknown' };
}

/** The detail is on the span alone: metrics stay few. */
function describe(span: Span, error: unknown): void {
  const { code, detail } = error instanceof SandboxError ? error : { code: 'provider', detail: undefined };
  if (detail !== undefined) span.setAttribute('sandbox.detail', detail);
  span.setStatus({ code: SpanStatusCode.ERROR, message: detail === undefined ? code : `${code}: ${detail}` });
}
