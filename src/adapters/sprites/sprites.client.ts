import type { SandboxError } from '#libs/contract';
import type { HttpAnswer } from '../common/http-client.js';
import { ProviderClient } from '../common/provider-client.js';
import { answerError, noToken } from './sprites.errors.js';
import type { SpritesOptions } from './sprites.options.js';

/** Authenticated requests to the API of one organization. */
export class SpritesClient extends ProviderClient {
  readonly options: SpritesOptions;

  constructor(options: SpritesOptions) {
    super(options.baseUrl, options.retryBaseMs);
    this.options = options;
  }

  override authorization(): { authorization: string } {
    const { token } = this.options;
    if (token === undefined) throw noToken();
    return { authorization: `Bearer ${token}` };
  }

  /** Of a WebSocket. */
  socketUrl(path: string, query: Iterable<readonly [string, string]>): URL {
    return this.http.socketUrl(path, query);
  }

  protected override errorOf(answer: HttpAnswer): SandboxError {
    return answerError(answer);
  }
}

/** The path of a sprite, or of what belongs to it. */
export function spritePath(name: string, ...below: readonly string[]): string {
  return `/v1/sprites/${[name, ...below].map(encodeURIComponent).join('/')}`;
}

/** For a WebSocket, which may have to wake a sprite. */
export function socketTimeoutMs({ options }: SpritesClient): number {
  return 2 * options.timeoutMs;
}
