import { readFileSync } from 'node:fs';
import { getMetadataStorage } from 'class-validator';
import { settingsOf } from '../../src/common/index.js';
import { RunnerSettings } from '../../src/runner/index.js';
import { SandboxSettings } from '../../src/index.js';
import { settingDocs, type SettingDoc } from './setting-docs.js';
import { spaced } from './table.js';

/** Where settings classes are, in the order of the page. */
export const SETTINGS_CLASSES = [
  { type: SandboxSettings, module: 'SandboxModule', path: 'src/sandbox/sandbox.settings.ts' },
  { type: RunnerSettings, module: 'RunnerModule', path: 'src/runner/runner.settings.ts' },
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

/** What is wrong with the docblock of a setting, one sentence each. */
export function docFaults({ key, environment, byDefault, doc }: KnownSetting): string[] {
  if (doc === undefined || doc.text === '') return [`${key} is not described`];
  const value = typeof byDefault === 'number' ? spaced(byDefault) : (byDefault ?? 'none');
  const said = byDefault === undefined ? doc.byDefault.split(':')[0] : doc.byDefault;
  return [
    ...(doc.environment === environment
      ? []
      : [`${key} is set by ${environment}, not by ${doc.environment || 'nothing'}`]),
    ...(said === String(value) ? [] : [`${key} is ${String(value)} by default, not ${doc.byDefault || 'unsaid'}`]),
  ];
}
