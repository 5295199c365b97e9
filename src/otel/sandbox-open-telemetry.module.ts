import { Module, type DynamicModule } from '@nestjs/common';
import { SandboxTelemetry } from '../sandbox/sandbox-telemetry.js';
import { CallTelemetry } from './call-telemetry.js';
import { OTEL_OPTIONS, type SandboxOpenTelemetryOptions } from './otel.options.js';
import { RunnerMetrics } from './runner-metrics.js';

/**
 * Spans and metrics through the OpenTelemetry API; where they go is up to the SDK that the application has set up,
 * before Nest starts. Global.
 *
 * Spans are `sandbox.<operation>`, children of the active one, with `sandbox.provider`, `.operation`, `.code` (`ok`, or
 * that of the error), `.effect` and `.detail`; a command's span ends when it runs, and what then streams has none.
 * Metrics are `sandbox.calls`, `sandbox.call.duration` in seconds, `sandbox.output` in bytes, and with `RunnerModule`
 * `sandbox.runner.*`.
 */
@Module({})
export class SandboxOpenTelemetryModule {
  static forRoot(options: SandboxOpenTelemetryOptions = {}): DynamicModule {
    return {
      module: SandboxOpenTelemetryModule,
      global: true,
      providers: [
        { provide: OTEL_OPTIONS, useValue: options },
        CallTelemetry,
        { provide: SandboxTelemetry, useExisting: CallTelemetry },
        RunnerMetrics,
      ],
      exports: [SandboxTelemetry],
    };
  }
}
