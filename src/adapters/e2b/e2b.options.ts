import { inspect } from 'node:util';
import { IsInt, IsOptional, IsString, IsUrl, Matches, Max, Min } from 'class-validator';
import { Setting, readEnvironment, resolveSettings, type SettingsInput } from '../../common/index.js';

const URL_RULES = { require_tld: false, require_protocol: true, protocols: ['https', 'http'], disallow_auth: true };

/**
 * What {@link E2bAdapter} can be told, also its token. Per key a given value beats the environment, which beats the
 * default. Shows no key when it is printed.
 */
export class E2bOptions {
  /** The key for the E2B API. Without it every call is `denied`. Environment: `E2B_API_KEY`. @default none */
  @Setting('E2B_API_KEY', 'text')
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'apiKey must hold printable ASCII characters only' })
  readonly apiKey?: string;

  /** The URL of the API; may have a path. Environment: `E2B_BASE_URL`. @default 'https://api.e2b.app' */
  @Setting('E2B_BASE_URL', 'text')
  @IsUrl(URL_RULES)
  readonly baseUrl: string = 'https://api.e2b.app';

  /**
   * The URL of one host that serves every sandbox, and tells them apart by the routing headers of the service.
   * Environment: `E2B_SANDBOX_URL`.
   *
   * @default none: every sandbox has a host of its own below the domain
   */
  @Setting('E2B_SANDBOX_URL', 'text')
  @IsOptional()
  @IsUrl(URL_RULES)
  readonly sandboxUrl?: string;

  /**
   * The domain that the hosts of sandboxes are in, unless the service names another. Environment: `E2B_DOMAIN`.
   *
   * @default none: the host of `baseUrl` without its label `api`
   */
  @Setting('E2B_DOMAIN', 'text')
  @IsOptional()
  @Matches(/^[A-Za-z0-9.-]+(?::\d{1,5})?$/, { message: 'domain must be a host name, with a port or without' })
  readonly domain?: string;

  /** The template that sandboxes are made from. Environment: `E2B_TEMPLATE`. @default 'base' */
  @Setting('E2B_TEMPLATE', 'text')
  @IsString()
  @Matches(/^\S+$/, { message: 'template must hold no white space' })
  readonly template: string = 'base';

  /** The user that commands run as, and files belong to. Environment: `E2B_USER`. @default none: the template's own */
  @Setting('E2B_USER', 'text')
  @IsOptional()
  @Matches(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,31}$/, { message: 'user must be the name of a user' })
  readonly user?: string;

  /**
   * How long one operation may take, in milliseconds. Creating, pausing and waking a sandbox get at least 80 000, since
   * they may take the service that long. Environment: `E2B_TIMEOUT_MS`.
   *
   * @default 30 000
   */
  @Setting('E2B_TIMEOUT_MS', 'number')
  @IsInt()
  @Min(10)
  @Max(3_600_000)
  readonly timeoutMs: number = 30_000;

  /**
   * How long a sandbox runs on while no command of it is read here; then it is paused. Environment: `E2B_TTL_SECONDS`.
   *
   * @default 1 800
   */
  @Setting('E2B_TTL_SECONDS', 'number')
  @IsInt()
  @Min(1)
  @Max(86_400)
  readonly ttlSeconds: number = 1800;

  /**
   * How often a stream without output sends a sign of life. After three times as long without one it counts as lost.
   * Environment: `E2B_KEEPALIVE_SECONDS`.
   *
   * @default 15
   */
  @Setting('E2B_KEEPALIVE_SECONDS', 'number')
  @IsInt()
  @Min(1)
  @Max(90)
  readonly keepaliveSeconds: number = 15;

  /** The first wait before an idempotent request is sent again. Environment: `SANDBOX_RETRY_BASE_MS`. @default 250 */
  @Setting('SANDBOX_RETRY_BASE_MS', 'number')
  @IsInt()
  @Min(1)
  @Max(60_000)
  readonly retryBaseMs: number = 250;

  /** @throws {Error} one message that names every setting at fault, never its value */
  constructor(given?: SettingsInput<E2bOptions>) {
    if (given === undefined) return;
    Object.assign(this, resolveSettings(E2bOptions, given, readEnvironment(E2bOptions, process.env)));
    Object.freeze(this);
  }

  /** What JSON and logs show. */
  toJSON(): object {
    const set = Object.entries(this).filter(([, value]) => value !== undefined);
    return Object.fromEntries(set.map(([key, value]) => [key, key === 'apiKey' ? '[secret]' : value]));
  }

  [inspect.custom](): object {
    return this.toJSON();
  }
}
