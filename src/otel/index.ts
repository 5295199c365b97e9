export type { SandboxOpenTelemetryOptions } from './otel.options.js';
export { SandboxOpenTelemetryModule } from './sandbox-open-telemetry.module.js';
