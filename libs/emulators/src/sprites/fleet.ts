import type { EmulatorRoot } from '../kit/emulator-root.js';
import type { SpritesSettings } from './options.js';
import { limitReached, noSuchSprite, refusal } from './refusals.js';
import { PublicUrl } from './public-url.js';
import { Sprite } from './sprite.js';

/** All sprites of the organization. */
export class Fleet {
  readonly #sprites = new Map<string, Sprite>();
  /** What is being removed of deleted ones, by name. */
  readonly #leaving = new Map<string, Promise<void>>();
  #creations: number[] = [];

  constructor(
    readonly settings: SpritesSettings,
    private readonly root: EmulatorRoot,
    private readonly closing: AbortSignal,
  ) {}

  /** By name, in order. */
  get all(): readonly Sprite[] {
    return [...this.#sprites.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  find(name: string): Sprite | undefined {
    return this.#sprites.get(name);
  }

  /** @throws {Refusal} 404 */
  get(name: string): Sprite {
    const sprite = this.find(name);
    if (!sprite) throw noSuchSprite();
    return sprite;
  }

  /** @throws {Refusal} 409 or 400 when the name is taken, 429 */
  async create(name: string): Promise<Sprite> {
    await this.settled(name);
    const { alternatives } = this.settings;
    if (this.find(name)) throw refusal(alternatives.duplicateName, `sprite ${name} already exists`);
    this.#countCreation();
    if (alternatives.runningLimit === 'on_create') this.#admit();
    const admit = () => {
      if (alternatives.runningLimit === 'on_wake') this.#admit();
    };
    const sprite = new Sprite(name, this.settings, this.root, { admit, closing: this.closing });
    this.#sprites.set(name, sprite);
    if (this.settings.publicUrl) {
      sprite.publicUrl = await PublicUrl.start(sprite, this.settings.publicUrl.port(name));
      sprite.url = sprite.publicUrl.url;
    }
    return sprite;
  }

  /** Resolves once nothing is left of the sprite that had this name, if it is being deleted. */
  async settled(name: string): Promise<void> {
    await this.#leaving.get(name)?.catch(() => {});
  }

  /** @throws {Refusal} 404 */
  async delete(name: string): Promise<void> {
    await this.settled(name);
    const sprite = this.get(name);
    this.#sprites.delete(name);
    const leaving = sprite.destroy().finally(() => this.#leaving.delete(name));
    this.#leaving.set(name, leaving);
    await leaving;
  }

  /** What the listing says about all of them. */
  get counters(): Record<string, string | number> {
    const count = (status: string) => this.all.filter((sprite) => sprite.power.status === status).length;
    return {
      name: this.settings.organization,
      running: count('running'),
      warm: count('warm'),
      cold: count('cold'),
      running_limit: this.settings.runningLimit ?? 10,
      warm_limit: 100,
    };
  }

  async close(): Promise<void> {
    for (const sprite of this.#sprites.values()) {
      sprite.power.end();
      sprite.timers.close();
      await sprite.publicUrl?.close();
    }
  }

  #admit(): void {
    const limit = this.settings.runningLimit ?? Infinity;
    const running = this.all.filter((sprite) => sprite.power.up).length;
    if (running < limit) return;
    throw limitReached({
      error: 'concurrent_sprite_limit_exceeded',
      message: `your plan allows ${limit} running sprites`,
      limit,
      currentCount: running,
      retryAfterSeconds: 30,
    });
  }

  #countCreation(): void {
    const { createLimit } = this.settings;
    if (!createLimit) return;
    const { count, windowMs } = createLimit;
    const now = performance.now();
    this.#creations = this.#creations.filter((at) => now - at < windowMs);
    if (this.#creations.length >= count) {
      const waitMs = windowMs - (now - this.#creations[0]!);
      throw limitReached({
        error: 'sprite_creation_rate_limited',
        message: `at most ${count} sprites may be created in ${windowMs / 1000} s`,
        limit: count,
        currentCount: this.#creations.length,
        windowSeconds: Math.ceil(windowMs / 1000),
        retryAfterSeconds: Math.ceil(waitMs / 1000),
      });
    }
    this.#creations.push(now);
  }
}
