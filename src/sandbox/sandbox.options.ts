import type { ModuleMetadata } from '@nestjs/common';
import type { SandboxAdapter } from '#libs/contract';
import type { AsyncSettings, Definition, SettingsInput } from '../common/index.js';
import type { SandboxSettings } from './sandbox.settings.js';

/**
 * An adapter as a host names it: its class, `{ useExisting }`, `{ useValue }`, or `{ useFactory, inject? }`. Each entry
 * becomes one provider of `SandboxModule`, so a class or factory injects what it needs.
 */
export type AdapterDefinition = Definition<SandboxAdapter>;

/** What has to be known when the module is registered. */
export interface SandboxModuleStatic {
  /**
   * Adapters by provider tag, `[a-z][a-z0-9_]*`. A malformed tag, or one instance under two tags, fails at start. What is
   * given replaces the default: name the hosted ones that are wanted beside others.
   *
   * @default {@link HOSTED_ADAPTERS}, those of Fly Sprites, E2B and Daytona, set up by the environment
   */
  readonly adapters?: Readonly<Record<string, AdapterDefinition>>;
  /** Whether other modules get `SandboxService` without importing this one. @default false */
  readonly isGlobal?: boolean;
  /** Modules whose exports the adapters inject. */
  readonly imports?: ModuleMetadata['imports'];
}

/** Options of `SandboxModule.forRoot`: per key they beat the environment, which beats the defaults. */
export type SandboxModuleOptions = SandboxModuleStatic & SettingsInput<SandboxSettings>;

/** Options of `SandboxModule.forRootAsync`: `useFactory` gives the settings, `adapters` and the rest are static. */
export type SandboxModuleAsyncOptions = SandboxModuleStatic & AsyncSettings<SandboxSettings>;
