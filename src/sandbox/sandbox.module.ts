import { Module, Optional, type DynamicModule } from '@nestjs/common';
import type { SandboxAdapter } from '#libs/contract';
import {
  checkFactory,
  provideDefinition,
  provideSettings,
  type AsyncSettings,
  type SettingsInput,
} from '../common/index.js';
import { AdapterRegistry } from './adapter-registry.js';
import { HOSTED_ADAPTERS } from './hosted-adapters.js';
import type { SandboxModuleAsyncOptions, SandboxModuleOptions, SandboxModuleStatic } from './sandbox.options.js';
import { SandboxTelemetry } from './sandbox-telemetry.js';
import { SandboxService } from './sandbox.service.js';
import { SandboxSettings } from './sandbox.settings.js';
import { getSandboxAdapterToken } from './sandbox.tokens.js';

/** Provides {@link SandboxService} over a fixed map of adapters. */
@Module({})
export class SandboxModule {
  constructor(@Optional() service?: SandboxService) {
    if (service === undefined) {
      throw new Error(
        'SandboxModule: import SandboxModule.forRoot() or forRootAsync(); to use its service in several modules, ' +
          'import it once with isGlobal: true, or from a module that exports it',
      );
    }
  }

  static forRoot({ adapters, isGlobal, imports, ...settings }: SandboxModuleOptions = {}): DynamicModule {
    return compose({ adapters, isGlobal, imports }, settings);
  }

  static forRootAsync(options: SandboxModuleAsyncOptions): DynamicModule {
    checkFactory('SandboxModule', options);
    const { adapters, isGlobal, imports, ...settings } = options;
    return compose({ adapters, isGlobal, imports }, settings);
  }
}

function compose(
  { adapters = HOSTED_ADAPTERS, isGlobal = false, imports = [] }: SandboxModuleStatic,
  source: SettingsInput<SandboxSettings> | AsyncSettings<SandboxSettings>,
): DynamicModule {
  const tags = Object.keys(adapters);
  const settings = provideSettings(SandboxSettings, 'nestjs-sandbox', source);
  return {
    module: SandboxModule,
    global: isGlobal,
    imports: [...imports, ...settings.imports],
    providers: [
      ...settings.providers,
      ...Object.entries(adapters).map(([tag, adapter]) =>
        provideDefinition(`SandboxModule: adapters.${tag}`, getSandboxAdapterToken(tag), adapter),
      ),
      {
        provide: AdapterRegistry,
        inject: [{ token: SandboxTelemetry, optional: true }, ...tags.map(getSandboxAdapterToken)],
        useFactory: (telemetry: SandboxTelemetry | undefined, ...bound: SandboxAdapter[]) =>
          new AdapterRegistry(
            bound.map((adapter, i) => [tags[i] as string, adapter]),
            telemetry,
          ),
      },
      SandboxService,
    ],
    exports: [SandboxService, SandboxSettings, ...tags.map(getSandboxAdapterToken)],
  };
}
