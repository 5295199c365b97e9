import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Answer } from '../kit/answer.js';
import type { Call } from '../kit/call.js';
import type { EmulatorServer } from '../kit/emulator-server.js';
import type { Exchange } from '../kit/exchange.js';
import { sameSecret } from '../kit/same-secret.js';
import { ApiFailure, apiFailure } from './api-failure.js';
import type { DaytonaSettings, Throttler } from './options.js';
import { RateLimits } from './rate-limits.js';

const VERSION = { 'x-daytona-api-version': 'v0.214.0' };

/** What a route answers with: JSON with status 200, or a whole answer. */
export type ApiAct = (exchange: Exchange) => Promise<Answer>;

/** The routes of the control plane: credential, counters and the form of errors are the same for all. */
export class ApiRoutes {
  readonly #limits: RateLimits;

  constructor(
    private readonly server: EmulatorServer,
    private readonly settings: DaytonaSettings,
  ) {
    this.#limits = new RateLimits(settings);
  }

  /** @param throttler counted beside `authenticated` */
  add(method: string, path: string, act: ApiAct, throttler?: Throttler): void {
    this.server.route(method, `/api${path}`, async (exchange) => {
      let headers: Record<string, string> = VERSION;
      try {
        authenticate(exchange.headers, this.settings.token);
        headers = { ...VERSION, ...this.#limits.take(['authenticated', ...(throttler ? [throttler] : [])]) };
        const answer = await act(exchange);
        await exchange.reply({ ...answer, headers: { ...headers, ...answer.headers } });
      } catch (error) {
        if (!(error instanceof ApiFailure)) throw error;
        const answer = failureAnswer(error, exchange.call, this.settings);
        await exchange.reply({ ...answer, headers: { ...headers, ...answer.headers } });
      }
    });
  }
}

/** A path that no route serves: only below `/api/` it is an error, elsewhere it is the dashboard. */
export function unknownPath(call: Call, settings: DaytonaSettings): Answer {
  if (call.path.startsWith('/api/')) {
    return failureAnswer(apiFailure(404, `Cannot ${call.method} ${call.path}`), call, settings);
  }
  return { status: 200, html: '<!doctype html><title>Dashboard</title>' };
}

function failureAnswer({ status, message, headers }: ApiFailure, call: Call, settings: DaytonaSettings): Answer {
  const coded = settings.alternatives.errorFields === 'coded';
  const reason = STATUS_CODES[status] ?? 'Error';
  return {
    status,
    headers: { ...VERSION, ...headers },
    json: {
      path: call.path,
      timestamp: new Date().toISOString(),
      statusCode: status,
      error: reason,
      message,
      ...(coded && { code: reason.toUpperCase().replaceAll(/\W+/g, '_'), source: 'DAYTONA_API' }),
    },
  };
}

/** @throws {ApiFailure} 401 */
function authenticate(headers: IncomingMessage['headers'], token: string): void {
  if (!accepts(headers, token)) throw apiFailure(401, 'Invalid credentials');
}

export function accepts({ authorization = '' }: IncomingMessage['headers'], token: string): boolean {
  return sameSecret(authorization, `Bearer ${token}`);
}

export function ok(json: unknown): Answer {
  return { status: 200, json };
}

/** The body as an object; empty when there is none. */
export async function bodyOf(exchange: Exchange): Promise<Readonly<Record<string, unknown>>> {
  return Object((await exchange.json()) ?? {}) as Record<string, unknown>;
}
