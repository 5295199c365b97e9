export { provideDefinition, type Definition } from './definition.js';
export { readEnvironment, resolveSettings, type SettingsInput } from './resolve-settings.js';
export { Setting, settingsOf, type SettingInfo, type SettingType } from './setting.js';
export { checkFactory, provideSettings, type AsyncSettings } from './settings-providers.js';
