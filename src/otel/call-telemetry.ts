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
import type { ObservedCall, SandboxError } from '#libs/contract';
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
    const ended = context.with(trace.setSpan(context.active(), span), work);
    void Promise.allSettled([ended])
      .then(([outcome]) => {
        const failed = outcome.status === 'rejected';
        if (failed) describe(span, outcome.reason as SandboxError);
        else this.#output.add(provider, outcome.value);
        const all = { ...attributes, ...(failed ? codeOf(outcome.reason as SandboxError) : SUCCESS) };
        span.setAttributes(all);
        span.end();
        this.#calls.add(1, all);
        return this.#durations.record((performance.now() - startedAt) / 1_000, all);
      })
      .catch((error: unknown) => diag.error('nestjs-sandbox: a call could not be recorded', error));
  }

  onApplicationShutdown(): void {
    this.#output.close();
  }
}

const SUCCESS: Attributes = { 'sandbox.code': 'ok' };

function codeOf({ code, effect }: SandboxError): Attributes {
  return { 'sandbox.code': code, 'sandbox.effect': effect };
}

/** The detail is on the span alone: metrics stay few. */
function describe(span: Span, { code, detail }: SandboxError): void {
  if (detail !== undefined) span.setAttribute('sandbox.detail', detail);
  span.setStatus({ code: SpanStatusCode.ERROR, message: detail === undefined ? code : `${code}: ${detail}` });
}
