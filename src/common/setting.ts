/** How a text, as the environment holds it, becomes a value: never by guessing. */
export type SettingType = 'text' | 'number' | 'boolean';

/** What is known about one setting beside its default, which is the property's initial value. */
export interface SettingInfo {
  /** The environment variable that sets it. */
  readonly env: string;
  readonly type: SettingType;
}

const settings = new WeakMap<object, Map<string, SettingInfo>>();

/** Makes a property of a settings class settable by the environment variable `env`. */
export function Setting(env: string, type: SettingType): PropertyDecorator {
  return (target, key) => {
    const known = settings.get(target) ?? new Map<string, SettingInfo>();
    settings.set(target, known.set(String(key), { env, type }));
  };
}

/** The settings of a class by property, in the order of their declaration. */
export function settingsOf(type: new () => object): ReadonlyMap<string, SettingInfo> {
  return settings.get(type.prototype as object) ?? new Map<string, SettingInfo>();
}
