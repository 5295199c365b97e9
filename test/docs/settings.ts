import { readFileSync } from 'node:fs';
import { getMetadataStorage } from 'class-validator';
import { settingsOf } from '../../src/common/index.js';
import { DaytonaOptions } from '../../src/adapters/daytona/index.js';
import { E2bOptions } from '../../src/adapters/e2b/index.js';
import { SpritesOptions } from '../../src/adapters/sprites/index.js';
import { RunnerSettings } from '../../src/runner/index.js';
import { SandboxSettings } from '../../src/index.js';
import { settingDocs, type SettingDoc } from './setting-docs.js';
import { spaced } from './table.js';

/** Where settings classes are, in the order of the page. */
export const SETTINGS_CLASSES = [
  { type: SandboxSettings, module: 'SandboxModule', path: 'src/sandbox/sandbox.settings.ts' },
  { type: RunnerSettings, module: 'RunnerModule', path: 'src/runner/runner.settings.ts' },
  { type: SpritesOptions, module: 'SpritesAdapter', path: 'src/adapters/sprites/sprites.options.ts' },
  { type: E2bOptions, module: 'E2bAdapter', path: 'src/adapters/e2b/e2b.options.ts' },
  { type: DaytonaOptions, module: 'DaytonaAdapter', path: 'src/adapters/daytona/daytona.options.ts' },
] as const;

type SettingsClass = (typeof SETTINGS_CLASSES)[number];

/** One setting as the code has it, with what its docblock says. */
export interface KnownSetting {
  readonly key: string;
  readonly environment: string;
  /** The initial value. */
  readonly byDefault: string | number | boolean | undefined;
  readonly least: number | undefined;
  readonly most: number | undefined;
  readonly doc: SettingDoc | undefined;
}

export function settingsIn({ type, path }: Pick<SettingsClass, 'type' | 'path'>): KnownSetting[] {
  const docs = settingDocs(path, readFileSync(path, 'utf8'));
  const defaults = new type() as unknown as Readonly<Record<string, KnownSetting['byDefault']>>;
  return [...settingsOf(type)].map(([key, { env }]) => ({
    key,
    environment: env,
    byDefault: defaults[key],
    least: bound(type, key, 'min'),
    most: bound(type, key, 'max'),
    doc: docs.get(key),
  }));
}

function bound(type: SettingsClass['type'], key: string, name: 'min' | 'max'): number | undefined {
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  const rule = rules.find((one) => one.propertyName === key && one.name === name);
  return (rule?.constraints as number[] | undefined)?.[0];
}

/** A default as docblocks write it. */
function shown(value: KnownSetting['byDefault']): string {
  if (typeof value === 'number') return spaced(value);
  return typeof value === 'string' ? `'${value}'` : String(value ?? 'none');
}

/** What is wrong with the docblock of a setting, one sentence each. */
export function docFaults({ key, environment, byDefault, doc }: KnownSetting): string[] {
  if (doc === undefined || doc.text === '') return [`${key} is not described`];
  const value = shown(byDefault);
  const said = byDefault === undefined ? doc.byDefault.split(':')[0] : doc.byDefault;
  return [
    ...(doc.environment === environment
      ? []
      : [`${key} is set by ${environment}, not by ${doc.environment || 'nothing'}`]),
    ...(said === value ? [] : [`${key} is ${value} by default, not ${doc.byDefault || 'unsaid'}`]),
  ];
}
