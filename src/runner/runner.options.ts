import type { ModuleMetadata } from '@nestjs/common';
import type { ProtocolLimits } from '#libs/protocol';
import type { AsyncSettings, Definition, SettingsInput } from '../common/index.js';
import type { RunnerAuthenticator } from './runner-authenticator.js';
import type { RunnerHost } from './runner-host.js';
import type { RunnerSettings } from './runner.settings.js';

/** Limits of the protocol that are set in code only; the others are {@link RunnerSettings}. */
export type RunnerLimits = Partial<Omit<ProtocolLimits, keyof RunnerSettings>>;

/** What has to be known when the module is registered. */
export interface RunnerModuleStatic {
  /** Path of the WebSocket, without a global prefix. @default '/api/runners/ws' */
  readonly path?: string;
  /** Where connections are entered and found. @default LocalRunnerHost */
  readonly host?: Definition<RunnerHost>;
  /** Who may dial in. @default TokenRunnerAuthenticator */
  readonly authenticator?: Definition<RunnerAuthenticator>;
  /** Sizes and counts that both ends keep to. @default PROTOCOL_LIMITS */
  readonly limits?: RunnerLimits;
  /** Modules whose exports `host` and `authenticator` inject. */
  readonly imports?: ModuleMetadata['imports'];
}

/** Options of `RunnerModule.forRoot`: per key they beat the environment, which beats the defaults. */
export type RunnerModuleOptions = RunnerModuleStatic & SettingsInput<RunnerSettings>;

/** Options of `RunnerModule.forRootAsync`: `useFactory` gives the settings, the rest is static. */
export type RunnerModuleAsyncOptions = RunnerModuleStatic & AsyncSettings<RunnerSettings>;
