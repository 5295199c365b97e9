import type { IncomingMessage } from 'node:http';
import { Injectable, Logger } from '@nestjs/common';
import { dialQuery, hasTokenInQuery } from './dial-query.js';
import { RunnerAuthenticator, type AuthenticatedRunner, type RunnerRefusal } from './runner-authenticator.js';
import { RunnerSettings } from './runner.settings.js';
import { TokenList } from './token-list.js';

/**
 * The default: a fixed list of tokens, each of which says which runner dials. A runner may have several, for rotation;
 * without any, everyone is refused.
 */
@Injectable()
export class TokenRunnerAuthenticator extends RunnerAuthenticator {
  readonly #tokens: TokenList;

  /** @throws {Error} for a malformed list */
  constructor(settings: RunnerSettings) {
    super();
    this.#tokens = new TokenList(settings.tokens);
    if (this.#tokens.size === 0) {
      new Logger(TokenRunnerAuthenticator.name).warn(
        'No runner tokens are configured (RUNNER_TOKENS): every runner is refused with 401',
      );
    }
  }

  override async authenticate(
    request: IncomingMessage,
    bearer: string | undefined,
  ): Promise<AuthenticatedRunner | RunnerRefusal> {
    if (hasTokenInQuery(request)) {
      return { refuse: 400, reason: 'send the token as Authorization: Bearer, not in the URL, and replace this one' };
    }
    if (bearer === undefined) return { refuse: 401, reason: 'Authorization: Bearer <token> is missing' };
    const runnerId = this.#tokens.runnerOf(bearer);
    if (runnerId === undefined) return { refuse: 401, reason: 'the token is not known' };
    const { instance: _, ...meta } = dialQuery(request);
    if (meta.name === undefined) return { refuse: 400, reason: 'the query parameter "name" is missing' };
    return { runnerId, name: meta.name, meta };
  }
}
