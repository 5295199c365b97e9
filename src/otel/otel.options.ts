import type { Attributes, MeterProvider, TracerProvider } from '@opentelemetry/api';

/** Of `SandboxOpenTelemetryModule.forRoot`. */
export interface SandboxOpenTelemetryOptions {
  /** @default the global one */
  readonly tracerProvider?: TracerProvider;
  /** @default the global one, as it is when the application starts */
  readonly meterProvider?: MeterProvider;
  /** On every span and metric, to tell two applications of one process apart. @default none */
  readonly attributes?: Attributes;
}

/** The options of `SandboxOpenTelemetryModule.forRoot`; a {@link SandboxOpenTelemetryOptions}. */
export const OTEL_OPTIONS = Symbol('nestjs-sandbox:otel:options');

/** Under which tracer and meter are known. */
export const SCOPE = 'nestjs-sandbox';
