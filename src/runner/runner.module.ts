import { Module, Optional, type DynamicModule } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { DIAL_PATH, PROTOCOL_LIMITS, type ProtocolLimits } from '#libs/protocol';
import {
  checkFactory,
  provideDefinition,
  provideSettings,
  type AsyncSettings,
  type SettingsInput,
} from '../common/index.js';
import { LocalRunnerHost } from './local-runner-host.js';
import { RunnerAuthenticator } from './runner-authenticator.js';
import { RunnerHost } from './runner-host.js';
import { RunnerGateway, runnerGatewayAt } from './runner.gateway.js';
import type {
  RunnerLimits,
  RunnerModuleAsyncOptions,
  RunnerModuleOptions,
  RunnerModuleStatic,
} from './runner.options.js';
import { RunnerSettings } from './runner.settings.js';
import { RUNNER_LIMITS, RUNNER_STATS } from './runner.tokens.js';
import { TokenRunnerAuthenticator } from './token-runner-authenticator.js';

/**
 * Lets runners dial in. Global, once per application. It holds a WebSocket gateway, so the application needs an
 * adapter: `app.useWebSocketAdapter(new RunnerWsAdapter(app))`, or Nest's own `WsAdapter`.
 */
@Module({})
export class RunnerModule {
  constructor(modules: ModulesContainer, @Optional() gateway?: RunnerGateway) {
    const instances = [...modules.values()].filter(({ metatype }) => metatype === RunnerModule);
    if (gateway === undefined || instances.length > 1) {
      throw new Error(
        'RunnerModule: import RunnerModule.forRoot() or forRootAsync() exactly once per application; ' +
          'it is global, so other modules need no import of it',
      );
    }
  }

  static forRoot({ path, host, authenticator, limits, imports, ...settings }: RunnerModuleOptions = {}): DynamicModule {
    return compose({ path, host, authenticator, limits, imports }, settings);
  }

  static forRootAsync(options: RunnerModuleAsyncOptions): DynamicModule {
    checkFactory('RunnerModule', options);
    const { path, host, authenticator, limits, imports, ...settings } = options;
    return compose({ path, host, authenticator, limits, imports }, settings);
  }
}

function compose(
  {
    path = DIAL_PATH,
    host = LocalRunnerHost,
    authenticator = TokenRunnerAuthenticator,
    limits = {},
    imports = [],
  }: RunnerModuleStatic,
  source: SettingsInput<RunnerSettings> | AsyncSettings<RunnerSettings>,
): DynamicModule {
  const settings = provideSettings(RunnerSettings, 'nestjs-sandbox.runner', source);
  return {
    module: RunnerModule,
    global: true,
    imports: [...imports, ...settings.imports],
    providers: [
      ...settings.providers,
      {
        provide: RUNNER_LIMITS,
        inject: [RunnerSettings],
        useFactory: (resolved: RunnerSettings) => protocolLimits(resolved, limits),
      },
      provideDefinition('RunnerModule: host', RunnerHost, host),
      provideDefinition('RunnerModule: authenticator', RunnerAuthenticator, authenticator),
      { provide: RunnerGateway, useClass: runnerGatewayAt(path) },
      { provide: RUNNER_STATS, useExisting: RunnerGateway },
    ],
    exports: [RunnerHost, RunnerAuthenticator, RunnerGateway, RunnerSettings, RUNNER_LIMITS, RUNNER_STATS],
  };
}

function protocolLimits(settings: RunnerSettings, limits: RunnerLimits): ProtocolLimits {
  const { pingIntervalMs, silenceMs, probeTimeoutMs, requestTimeoutMs, drainMs } = settings;
  return { ...PROTOCOL_LIMITS, ...limits, pingIntervalMs, silenceMs, probeTimeoutMs, requestTimeoutMs, drainMs };
}
