import type { Call } from '../kit/call.js';
import type { Fleet } from './fleet.js';
import { refusal } from './refusals.js';
import type { Sprite } from './sprite.js';

const SPRITE_VERSION = '0.0.1-rc46';
/** On every answer that comes from a sprite. */
export const VM_HEADERS = { 'sprite-version': SPRITE_VERSION } as const;

/** A call that has reached the machine of a sprite and keeps it running until it leaves. */
export interface VmUse {
  readonly sprite: Sprite;
  readonly leave: () => void;
}

/**
 * Routes a call into a sprite, which wakes it.
 *
 * @param exec whether it is one that a restart after a restore refuses
 * @throws {Refusal} 404, 429, 503
 */
export async function enterVm(
  fleet: Fleet,
  { params }: { readonly params: Readonly<Record<string, string>>; readonly call: Call },
  exec = false,
): Promise<VmUse> {
  const sprite = fleet.get(params['name']!);
  if (sprite.bootLeft > 0) {
    sprite.bootLeft -= 1;
    throw refusal(503, 'sprite is starting');
  }
  if (exec && sprite.restartLeft > 0) {
    sprite.restartLeft -= 1;
    throw refusal(503, 'sprite is restarting');
  }
  const leave = await sprite.power.use();
  return { sprite, leave };
}
