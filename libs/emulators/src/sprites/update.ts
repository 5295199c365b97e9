import { refusal } from './refusals.js';
import type { Sprite, UrlSettings } from './sprite.js';

/** What a create or an update sets. */
export interface SpriteUpdate {
  readonly urlSettings?: UrlSettings;
  readonly labels?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

/** @throws {Refusal} 400 */
export function updateOf(body: Readonly<Record<string, unknown>>): SpriteUpdate {
  const { url_settings: url, labels, clear_labels: clear, environment } = body;
  return {
    ...(url !== undefined && { urlSettings: urlSettingsOf(url) }),
    ...(labels !== undefined && { labels: labelsOf(labels) }),
    ...(clear === true && { labels: [] }),
    ...(environment !== undefined && { environment: environmentOf(environment) }),
  };
}

export function applyUpdate(sprite: Sprite, { urlSettings, labels, environment }: SpriteUpdate): void {
  if (urlSettings) sprite.urlSettings = { ...sprite.urlSettings, ...urlSettings };
  if (labels) sprite.labels = labels;
  if (environment) sprite.environment = environment;
}

function urlSettingsOf(value: unknown): UrlSettings {
  const { auth, private_access: access } = Object(value) as Record<string, unknown>;
  if (auth !== 'sprite' && auth !== 'public') throw refusal(400, 'invalid url_settings.auth');
  if (access === undefined) return { auth };
  if (access !== 'admins' && access !== 'org_users') throw refusal(400, 'invalid url_settings.private_access');
  return { auth, private_access: access };
}

function labelsOf(value: unknown): string[] {
  if (Array.isArray(value) && value.every((label) => typeof label === 'string')) return value;
  throw refusal(400, 'invalid labels');
}

function environmentOf(value: unknown): Record<string, string> {
  const entries = Object.entries(Object(value) as object);
  if (!Array.isArray(value) && entries.every(([, text]) => typeof text === 'string')) {
    return Object.fromEntries(entries) as Record<string, string>;
  }
  throw refusal(400, 'invalid environment');
}
