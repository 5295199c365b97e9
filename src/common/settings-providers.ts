import type {
  DynamicModule,
  FactoryProvider,
  InjectionToken,
  OptionalFactoryDependency,
  Provider,
} from '@nestjs/common';
import { ConfigModule, registerAs } from '@nestjs/config';
import { readEnvironment, resolveSettings, type SettingsInput } from './resolve-settings.js';

/** Where the settings of a module come from when they are not known at registration. */
export interface AsyncSettings<T> {
  readonly inject?: (InjectionToken | OptionalFactoryDependency)[];
  /** Called once at start with what `inject` names. */
  readonly useFactory: (...args: never[]) => SettingsInput<T> | Promise<SettingsInput<T>>;
}

export interface SettingsProviders {
  readonly imports: DynamicModule[];
  readonly providers: Provider[];
}

/**
 * Provides the settings class `type` under its own token, out of `source` and the environment. The environment is read
 * through `@nestjs/config` when the module starts, so that what a host's own `ConfigModule.forRoot` loaded counts too.
 */
export function provideSettings<T extends object>(
  type: new () => T,
  namespace: string,
  source: SettingsInput<T> | AsyncSettings<T>,
): SettingsProviders {
  const environment = registerAs(namespace, () => readEnvironment(type, process.env));
  const input = Symbol(`nestjs-sandbox:${namespace}:input`);
  return {
    imports: [ConfigModule.forFeature(environment)],
    providers: [
      isAsync(source)
        ? {
            provide: input,
            useFactory: source.useFactory as FactoryProvider['useFactory'],
            inject: source.inject ?? [],
          }
        : { provide: input, useValue: source },
      {
        provide: type,
        inject: [environment.KEY, input],
        useFactory: (fromEnvironment: Record<string, string>, given: SettingsInput<T>) =>
          resolveSettings(type, given, fromEnvironment),
      },
    ],
  };
}

/** @throws {Error} when `forRootAsync` of `module` was called without the one thing that it needs */
export function checkFactory(module: string, options: { readonly useFactory?: unknown } | undefined): void {
  if (typeof options?.useFactory !== 'function') {
    throw new Error(`${module}.forRootAsync: "useFactory" is missing; without one, use ${module}.forRoot`);
  }
}

function isAsync<T>(source: SettingsInput<T> | AsyncSettings<T>): source is AsyncSettings<T> {
  return typeof (source as Partial<AsyncSettings<T>>).useFactory === 'function';
}
