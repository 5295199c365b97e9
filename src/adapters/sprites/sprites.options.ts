import { inspect } from 'node:util';
import { IsBoolean, IsInt, IsOptional, IsUrl, Matches, Max, Min } from 'class-validator';
import { Setting, readEnvironment, resolveSettings, type SettingsInput } from '../../common/index.js';

/**
 * What {@link SpritesAdapter} can be told, also its token. Per key a given value beats the environment, which beats the
 * default. Shows no token when it is printed.
 */
export class SpritesOptions {
  /**
   * The token for the Sprites API. Without it every call is `denied`. Environment: `SPRITES_TOKEN`.
   *
   * @default none
   */
  @Setting('SPRITES_TOKEN', 'text')
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'token must hold printable ASCII characters only' })
  readonly token?: string;

  /** The URL of the API; may have a path. Environment: `SPRITES_BASE_URL`. @default 'https://api.sprites.dev' */
  @Setting('SPRITES_BASE_URL', 'text')
  @IsUrl({ require_tld: false, require_protocol: true, protocols: ['https', 'http'], disallow_auth: true })
  readonly baseUrl: string = 'https://api.sprites.dev';

  /**
   * How long one operation over HTTP may take, in milliseconds. A WebSocket gets twice as long, since it may wake a
   * sprite; a network policy gets at least 90 000. Environment: `SPRITES_TIMEOUT_MS`.
   *
   * @default 30 000
   */
  @Setting('SPRITES_TIMEOUT_MS', 'number')
  @IsInt()
  @Min(10)
  @Max(3_600_000)
  readonly timeoutMs: number = 30_000;

  /** Whether everyone can open new sprites at their URL. Environment: `SPRITES_PUBLIC_URLS`. @default true */
  @Setting('SPRITES_PUBLIC_URLS', 'boolean')
  @IsBoolean()
  readonly publicUrls: boolean = true;

  /**
   * Whether checkpoints can be made and restored. Environment: `SPRITES_CHECKPOINT_CREATION_ENABLED`.
   *
   * @default false
   */
  @Setting('SPRITES_CHECKPOINT_CREATION_ENABLED', 'boolean')
  @IsBoolean()
  readonly checkpointCreationEnabled: boolean = false;

  /** The first wait before an idempotent request is sent again. Environment: `SANDBOX_RETRY_BASE_MS`. @default 250 */
  @Setting('SANDBOX_RETRY_BASE_MS', 'number')
  @IsInt()
  @Min(1)
  @Max(60_000)
  readonly retryBaseMs: number = 250;

  /** @throws {Error} one message that names every setting at fault, never its value */
  constructor(given?: SettingsInput<SpritesOptions>) {
    if (given === undefined) return;
    Object.assign(this, resolveSettings(SpritesOptions, given, readEnvironment(SpritesOptions, process.env)));
    Object.freeze(this);
  }

  /** What JSON and logs show. */
  toJSON(): object {
    return Object.fromEntries(Object.entries(this).map(([key, value]) => [key, key === 'token' ? '[secret]' : value]));
  }

  [inspect.custom](): object {
    return this.toJSON();
  }
}
