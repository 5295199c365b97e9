export {
  SANDBOX_CAPABILITIES,
  SANDBOX_ERROR_CODES,
  SANDBOX_ERROR_DETAILS,
  SandboxAdapter,
  SandboxError,
  isTransient,
  parseHandle,
  withBackoff,
} from '#libs/contract';
export type {
  AttachOptions,
  BackoffOptions,
  Bytes,
  CallOptions,
  Checkpoint,
  CreateOptions,
  ExecOptions,
  ExecResult,
  Exit,
  ExitFrame,
  FileContent,
  FileEntry,
  FileStat,
  NetworkPolicy,
  ObservedCall,
  OutputFrame,
  ProcessOptions,
  SandboxCapability,
  SandboxCommand,
  SandboxEffect,
  SandboxErrorCode,
  SandboxErrorDetail,
  SandboxErrorInit,
  SandboxFrame,
  SandboxHandle,
  SandboxInfo,
  SandboxSession,
  SandboxTraits,
  SpawnOptions,
  StreamOffsets,
  TerminalSize,
  TerminateOptions,
  WriteFileOptions,
} from '#libs/contract';
export type { AsyncSettings, Definition, SettingsInput } from './common/index.js';
export { SANDBOX_HTTP_STATUS, statusOf } from './sandbox/http-status.js';
export { SandboxExceptionFilter, type SandboxErrorBody } from './sandbox/sandbox-exception.filter.js';
export { SandboxModule } from './sandbox/sandbox.module.js';
export type {
  AdapterDefinition,
  SandboxModuleAsyncOptions,
  SandboxModuleOptions,
  SandboxModuleStatic,
} from './sandbox/sandbox.options.js';
export { SandboxTelemetry } from './sandbox/sandbox-telemetry.js';
export { SandboxService } from './sandbox/sandbox.service.js';
export { SandboxSettings } from './sandbox/sandbox.settings.js';
export { getSandboxAdapterToken } from './sandbox/sandbox.tokens.js';
