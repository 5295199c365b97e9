import { inspect } from 'node:util';
import { IsInt, IsOptional, IsUrl, Matches, Max, Min } from 'class-validator';
import { Setting, readEnvironment, resolveSettings, type SettingsInput } from '../../common/index.js';

/**
 * What {@link DaytonaAdapter} can be told, also its token. Per key a given value beats the environment, which beats the
 * default. Shows no key when it is printed.
 */
export class DaytonaOptions {
  /** The key of one organization. Without it every call is `denied`. Environment: `DAYTONA_API_KEY`. @default none */
  @Setting('DAYTONA_API_KEY', 'text')
  @IsOptional()
  @Matches(/^[\x21-\x7e]+$/, { message: 'apiKey must hold printable ASCII characters only' })
  readonly apiKey?: string;

  /** The URL of the API, with its path. Environment: `DAYTONA_API_URL`. @default 'https://app.daytona.io/api' */
  @Setting('DAYTONA_API_URL', 'text')
  @IsUrl({ require_tld: false, require_protocol: true, protocols: ['https', 'http'], disallow_auth: true })
  readonly apiUrl: string = 'https://app.daytona.io/api';

  /**
   * Id or name of the snapshot that sandboxes are made from. Environment: `DAYTONA_SNAPSHOT`.
   *
   * @default none: the organization's own
   */
  @Setting('DAYTONA_SNAPSHOT', 'text')
  @IsOptional()
  @Matches(/^\S+$/, { message: 'snapshot must hold no white space' })
  readonly snapshot?: string;

  /** The first wait before an idempotent request is sent again. Environment: `SANDBOX_RETRY_BASE_MS`. @default 250 */
  @Setting('SANDBOX_RETRY_BASE_MS', 'number')
  @IsInt()
  @Min(1)
  @Max(60_000)
  readonly retryBaseMs: number = 250;

  /** @throws {Error} one message that names every setting at fault, never its value */
  constructor(given?: SettingsInput<DaytonaOptions>) {
    if (given === undefined) return;
    Object.assign(this, resolveSettings(DaytonaOptions, given, readEnvironment(DaytonaOptions, process.env)));
    Object.freeze(this);
  }

  /** What JSON and logs show. */
  toJSON(): object {
    return Object.fromEntries(Object.entries(this).map(([key, value]) => [key, key === 'apiKey' ? '[secret]' : value]));
  }

  [inspect.custom](): object {
    return this.toJSON();
  }
}
