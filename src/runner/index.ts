export type {
  CloseReason,
  OpenOptions,
  RequestBody,
  RequestOp,
  RequestOptions,
  ResultOf,
  RunnerLink,
  RunnerSession,
  SessionSink,
} from '#libs/protocol';
export { LocalRunnerHost } from './local-runner-host.js';
export { parseRunnerSandboxName, runnerSandboxName } from './names.js';
export { RunnerAdapter } from './runner.adapter.js';
export { RunnerAuthenticator, type AuthenticatedRunner, type RunnerRefusal } from './runner-authenticator.js';
export { RunnerGateway } from './runner.gateway.js';
export type { RunnerGatewayStats, RunnerStatsSource } from './runner-stats.js';
export { RunnerHost } from './runner-host.js';
export { RunnerModule } from './runner.module.js';
export type {
  RunnerLimits,
  RunnerModuleAsyncOptions,
  RunnerModuleOptions,
  RunnerModuleStatic,
} from './runner.options.js';
export { RunnerSettings } from './runner.settings.js';
export { RunnerWsAdapter } from './runner-ws.adapter.js';
export { TokenRunnerAuthenticator } from './token-runner-authenticator.js';
