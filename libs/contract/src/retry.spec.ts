import { describe, expect, test } from '@jest/globals';
import type { BackoffOptions } from './backoff-options.js';
import { isTransient } from './is-transient.js';
import { withBackoff } from './retry.js';
import { retryLoop, type BackoffEnvironment } from './retry-loop.js';
import { SANDBOX_ERROR_CODES, type SandboxErrorCode } from './error-codes.js';
import { SandboxError, type SandboxErrorInit } from './sandbox-error.js';

/** Time that passes only by sleeping. */
class ManualEnvironment implements BackoffEnvironment {
  readonly waits: number[] = [];
  time = 0;
  chance = 1;
  onSleep: () => void = () => {};

  now(): number {
    return this.time;
  }

  random(): number {
    return this.chance;
  }

  async sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    this.waits.push(ms);
    this.time += ms;
    this.onSleep();
    signal?.throwIfAborted();
  }
}

function failing(...failures: unknown[]) {
  const calls = { count: 0 };
  const work = async () => {
    calls.count += 1;
    if (failures.length > 0) throw failures.length > 1 ? failures.shift() : failures[0];
    return 'ok';
  };
  return { calls, work };
}

function error(code: SandboxErrorCode, init?: SandboxErrorInit): SandboxError {
  return new SandboxError(code, init);
}

async function outcomeOf(environment: ManualEnvironment, work: () => Promise<unknown>, options: BackoffOptions = {}) {
  return retryLoop(environment, work, options).catch((failure: unknown) => failure);
}

test('isTransient goes by the code; whatever is unknown counts as transient', () => {
  expect(SANDBOX_ERROR_CODES.filter((code) => isTransient(error(code)))).toEqual([
    'rate_limited',
    'unavailable',
    'command_exited',
    'write_failed',
    'provider',
  ]);
  for (const value of [new Error('x'), undefined, null, 'text', { code: 'invalid' }])
    expect(isTransient(value)).toBe(true);
});

describe('waiting', () => {
  test('three attempts by default, then the last error as it is', async () => {
    const environment = new ManualEnvironment();
    const failures = [error('unavailable'), error('rate_limited'), error('unavailable')];
    const { work, calls } = failing(...failures);
    expect(await outcomeOf(environment, work)).toBe(failures[2]);
    expect([calls.count, environment.waits]).toEqual([3, [250, 500]]);
  });

  test('gives the first success', async () => {
    let calls = 0;
    const work = async () => {
      calls += 1;
      if (calls < 2) throw error('unavailable');
      return calls;
    };
    expect(await retryLoop(new ManualEnvironment(), work, {})).toBe(2);
  });

  test.each([
    [0, [125, 250, 500, 1000, 1000]],
    [0.5, [187.5, 375, 750, 1500, 1500]],
    [1, [250, 500, 1000, 2000, 2000]],
  ])('steps double up to maxMs; with chance %p the waits are %p', async (chance, waits) => {
    const environment = new ManualEnvironment();
    environment.chance = chance;
    await outcomeOf(environment, failing(error('unavailable')).work, { attempts: 6 });
    expect(environment.waits).toEqual(waits);
  });

  test.each([
    [5000, 5000],
    [100, 250],
    [NaN, 250],
  ])('retryAfterMs %p makes it wait %p', async (retryAfterMs, waited) => {
    const environment = new ManualEnvironment();
    await outcomeOf(environment, failing(error('rate_limited', { retryAfterMs })).work, { attempts: 2 });
    expect(environment.waits).toEqual([waited]);
  });

  test('what would pass the deadline is thrown at once', async () => {
    const environment = new ManualEnvironment();
    const failure = error('unavailable');
    expect(await outcomeOf(environment, failing(failure).work, { attempts: 9, deadlineMs: 750 })).toBe(failure);
    expect(environment.waits).toEqual([250, 500]);
    const late = error('rate_limited', { retryAfterMs: 10_000 });
    expect(await outcomeOf(environment, failing(late).work, { deadlineMs: 9_999 })).toBe(late);
    expect(environment.waits).toHaveLength(2);
  });
});

describe('what is tried again', () => {
  test.each([
    'not_found',
    'truncated',
    'not_supported',
    'already_exists',
    'denied',
    'invalid',
    'restore_failed',
    'aborted',
  ] as const)('%s is not', async (code) => {
    const { work, calls } = failing(error(code));
    expect(await outcomeOf(new ManualEnvironment(), work)).toMatchObject({ code });
    expect(calls.count).toBe(1);
  });

  const once = [
    'createNew',
    'exec',
    'spawn',
    'writeStdin',
    'terminateSession',
    'createCheckpoint',
    'restoreCheckpoint',
  ];
  test.each(once)('%s only while its effect is none', async (operation) => {
    for (const [effect, count] of [
      ['none', 3],
      ['unknown', 1],
      ['done', 1],
    ] as const) {
      const { work, calls } = failing(error('unavailable', { operation, effect }));
      await outcomeOf(new ManualEnvironment(), work);
      expect([effect, calls.count]).toEqual([effect, count]);
    }
  });

  test('an idempotent operation whatever its effect, and an unknown error', async () => {
    for (const failure of [
      error('unavailable', { operation: 'destroy', effect: 'unknown' }),
      new Error('x'),
      undefined,
    ]) {
      const { work, calls } = failing(failure);
      expect(await outcomeOf(new ManualEnvironment(), work)).toBe(failure);
      expect(calls.count).toBe(3);
    }
  });

  test('retriable decides in place of the rule', async () => {
    const exec = failing(error('unavailable', { operation: 'exec', effect: 'unknown' }));
    await outcomeOf(new ManualEnvironment(), exec.work, { retriable: () => true });
    expect(exec.calls.count).toBe(3);
    const busy = failing(error('unavailable'));
    await outcomeOf(new ManualEnvironment(), busy.work, { retriable: () => false });
    expect(busy.calls.count).toBe(1);
  });

  test('work that throws synchronously', async () => {
    let calls = 0;
    const work = () => {
      calls += 1;
      throw error('unavailable');
    };
    expect(await outcomeOf(new ManualEnvironment(), work)).toMatchObject({ code: 'unavailable' });
    expect(calls).toBe(3);
  });
});

describe('the signal', () => {
  test('that has fired keeps the work from beginning', async () => {
    const { work, calls } = failing();
    const signal = AbortSignal.abort('why');
    expect(await outcomeOf(new ManualEnvironment(), work, { signal, label: 'reading' })).toMatchObject({
      code: 'aborted',
      effect: 'none',
      cause: 'why',
      message: 'reading was aborted',
    });
    expect(calls.count).toBe(0);
  });

  test('ends the waiting, with the strongest effect of the attempts before', async () => {
    const environment = new ManualEnvironment();
    const abort = new AbortController();
    environment.onSleep = () => environment.waits.length === 2 && abort.abort('why');
    const { work, calls } = failing(
      error('unavailable', { effect: 'unknown' }),
      error('unavailable', { effect: 'none' }),
    );
    expect(await outcomeOf(environment, work, { signal: abort.signal })).toMatchObject({
      code: 'aborted',
      effect: 'unknown',
      cause: 'why',
    });
    expect(calls.count).toBe(2);
  });

  test('ends a real wait at once', async () => {
    const abort = new AbortController();
    const waiting = withBackoff(
      () => {
        setImmediate(() => abort.abort('why'));
        throw error('unavailable', { effect: 'none' });
      },
      { baseMs: 60_000, maxMs: 60_000, signal: abort.signal },
    );
    await expect(waiting).rejects.toMatchObject({ code: 'aborted', effect: 'none', cause: 'why' });
  });
});

test('withBackoff really waits and tries again', async () => {
  const startedAt = performance.now();
  let calls = 0;
  const work = () => {
    calls += 1;
    if (calls < 3) throw error('unavailable');
    return 'ok';
  };
  expect(await withBackoff(work, { baseMs: 20 })).toBe('ok');
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(29);
});

test.each([
  [{ attempts: 0 }],
  [{ attempts: 1.5 }],
  [{ baseMs: -1 }],
  [{ maxMs: NaN }],
  [{ deadlineMs: '5' as never }],
  [{ signal: {} as never }],
])('%p is invalid', async (options) => {
  const { work, calls } = failing();
  await expect(withBackoff(work, options)).rejects.toMatchObject({
    code: 'invalid',
    detail: 'argument',
    effect: 'none',
  });
  expect(calls.count).toBe(0);
});
