import type { Sprite } from './sprite.js';

/** A sprite as the management calls show it. */
export function resourceOf(sprite: Sprite): Record<string, unknown> {
  const { power, settings } = sprite;
  const { timeNames } = settings.alternatives;
  const [ran, warmed] =
    timeNames === 'running' ? ['last_running_at', 'last_warming_at'] : ['last_started_at', 'last_active_at'];
  return {
    id: sprite.id,
    name: sprite.name,
    organization: settings.organization,
    status: power.status,
    url: sprite.url,
    url_settings: sprite.urlSettings,
    created_at: sprite.createdAt.toISOString(),
    updated_at: sprite.updatedAt.toISOString(),
    [ran]: power.lastRunningAt?.toISOString() ?? null,
    [warmed]: power.lastWarmingAt?.toISOString() ?? null,
    labels: sprite.labels,
    primary_region: 'emu',
    version: '0.0.1-rc46',
    ...(sprite.environment && { environment: sprite.environment }),
  };
}

/** An entry of the listing. */
export function entryOf(sprite: Sprite, bulk: boolean): Record<string, unknown> {
  const { organization, alternatives } = sprite.settings;
  const minimal = { name: sprite.name, org_slug: organization, updated_at: sprite.updatedAt.toISOString() };
  return bulk || alternatives.listEntries === 'minimal' ? minimal : { ...resourceOf(sprite), org_slug: organization };
}
