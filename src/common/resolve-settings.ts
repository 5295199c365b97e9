import { validateSync, type ValidationError } from 'class-validator';
import { settingsOf, type SettingType } from './setting.js';

/** Settings as a user gives them: any of them, unset as `undefined`, `null` or `''`. */
export type SettingsInput<T> = { readonly [K in keyof T]?: T[K] | null | '' | undefined };

/** What the environment says about the settings of a class: only what is set, still as text. */
export function readEnvironment(
  type: new () => object,
  environment: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [key, { env }] of settingsOf(type)) {
    const value = environment[env];
    if (value !== undefined && value !== '') found[key] = value;
  }
  return found;
}

/**
 * A frozen, validated instance of a settings class. Per key an option beats the environment, which beats the default.
 *
 * @throws {Error} one readable message that names every setting at fault and where it was set, never its value
 */
export function resolveSettings<T extends object>(
  type: new () => T,
  options?: SettingsInput<T> | null,
  environment: Readonly<Record<string, string>> = {},
): T {
  const resolved = new type() as Record<string, unknown>;
  const given = (options ?? {}) as Readonly<Record<string, unknown>>;
  for (const [key, { type: kind }] of settingsOf(type)) {
    const value = isSet(given[key]) ? given[key] : environment[key];
    if (isSet(value)) resolved[key] = typeof value === 'string' ? parse(kind, value) : value;
  }
  const faults = validateSync(resolved, { forbidUnknownValues: false });
  if (faults.length > 0) throw new Error(describe(type, faults, given));
  return Object.freeze(resolved) as T;
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '';
}

/** What cannot be parsed stays text, which the validators then refuse. */
function parse(type: SettingType, text: string): unknown {
  const trimmed = text.trim();
  if (type === 'number' && /^[+-]?\d+(\.\d+)?$/.test(trimmed)) return Number(trimmed);
  if (type === 'boolean' && /^(true|1)$/i.test(trimmed)) return true;
  if (type === 'boolean' && /^(false|0)$/i.test(trimmed)) return false;
  return text;
}

function describe(type: new () => object, faults: ValidationError[], given: Readonly<Record<string, unknown>>): string {
  const known = settingsOf(type);
  const lines = faults.map(({ property, constraints }) => {
    const source = isSet(given[property]) ? 'given as an option' : `from ${known.get(property)?.env ?? 'its default'}`;
    // What is no number is beyond every bound as well, which says nothing.
    const { isInt, ...others } = constraints ?? {};
    return `  - ${isInt ?? Object.values(others).join(', ')} (${source})`;
  });
  return [`Invalid ${type.name}:`, ...lines].join('\n');
}
