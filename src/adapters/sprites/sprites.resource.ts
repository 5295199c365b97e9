import type { SandboxInfo } from '#libs/contract';
import { asObject } from '../common/json.js';

/** What is read of a sprite; the rest of the answer stays as it came. */
export interface SpriteResource {
  readonly id?: string;
  readonly name: string;
  readonly status: SandboxInfo['status'];
  readonly url?: string;
  readonly isPublic: boolean;
  readonly raw: unknown;
}

const STATUS: ReadonlyMap<unknown, SandboxInfo['status']> = new Map([
  ['running', 'running'],
  ['warm', 'suspended'],
  ['cold', 'suspended'],
]);

function isWebUrl(url: unknown): url is string {
  return typeof url === 'string' && /^https?:\/\//.test(url) && URL.canParse(url);
}

/** `undefined`: not the sprite of that name. */
export function spriteResource(raw: unknown, name: string): SpriteResource | undefined {
  const { id, name: named, status, url, url_settings: settings } = asObject(raw) ?? {};
  if (named !== name) return undefined;
  return {
    ...(typeof id === 'string' && id !== '' && Buffer.byteLength(id) <= 256 && { id }),
    name,
    status: STATUS.get(status) ?? 'unknown',
    ...(isWebUrl(url) && { url }),
    isPublic: asObject(settings)?.['auth'] === 'public',
    raw,
  };
}
