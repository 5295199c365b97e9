import { Refusal } from '../kit/answer.js';

export function refusal(status: number, error: string, more: Readonly<Record<string, unknown>> = {}): Refusal {
  return new Refusal({ status, json: { error, ...more } });
}

export function noSuchSprite(): Refusal {
  return refusal(404, 'sprite not found');
}

export function goingDown(): Refusal {
  return refusal(503, 'sprite is going down');
}

export function noSuchSession(id: string): Refusal {
  return refusal(404, `session not found: ${id}`);
}

/** What `limit` and its window say, with the headers that go with it. */
export interface LimitReached {
  readonly error: 'sprite_creation_rate_limited' | 'concurrent_sprite_limit_exceeded';
  readonly message: string;
  readonly limit: number;
  readonly currentCount: number;
  readonly windowSeconds?: number;
  readonly retryAfterSeconds: number;
}

export function limitReached(reached: LimitReached): Refusal {
  const { error, message, limit, currentCount, windowSeconds, retryAfterSeconds } = reached;
  return new Refusal({
    status: 429,
    headers: {
      'retry-after': String(retryAfterSeconds),
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': String(Math.ceil(Date.now() / 1000) + retryAfterSeconds),
    },
    json: {
      error,
      message,
      limit,
      current_count: currentCount,
      retry_after_seconds: retryAfterSeconds,
      upgrade_available: true,
      upgrade_url: 'https://sprites.dev/billing',
      ...(windowSeconds !== undefined && { window_seconds: windowSeconds }),
    },
  });
}
