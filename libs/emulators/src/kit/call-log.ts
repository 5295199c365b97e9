import type { Call, CallMatch } from './call.js';
import { matches } from './path-pattern.js';

const MOST_CALLS = 10_000;

interface Waiter {
  readonly match: CallMatch;
  readonly count: number;
  readonly resolve: (calls: Call[]) => void;
  readonly reject: (error: Error) => void;
}

/** Every request in the order of arrival, refused and faulty ones included; beyond 10 000 the oldest are forgotten. */
export class CallLog {
  #calls: Call[] = [];
  readonly #waiters = new Set<Waiter>();
  #closed = false;

  get all(): readonly Call[] {
    return this.#calls;
  }

  matching(match: CallMatch): Call[] {
    return this.#calls.filter((call) => matches(match, call));
  }

  /**
   * Resolves once `count` matching calls have arrived, those that were there before included. Rejects when the emulator
   * closes first.
   */
  async arrived(match: CallMatch, count = 1): Promise<Call[]> {
    if (this.#closed) throw closedFirst();
    return await new Promise((resolve, reject) => {
      this.#waiters.add({ match, count, resolve, reject });
      this.#settle();
    });
  }

  /** Forgets what arrived so far. */
  clear(): void {
    this.#calls = [];
  }

  /** @internal */
  add(call: Call): void {
    this.#calls.push(call);
    if (this.#calls.length > MOST_CALLS) this.#calls.shift();
    this.#settle();
  }

  /** @internal */
  close(): void {
    this.#closed = true;
    for (const { reject } of this.#waiters) reject(closedFirst());
    this.#waiters.clear();
  }

  #settle(): void {
    for (const waiter of this.#waiters) {
      const found = this.matching(waiter.match);
      if (found.length < waiter.count) continue;
      this.#waiters.delete(waiter);
      waiter.resolve(found);
    }
  }
}

function closedFirst(): Error {
  return new Error('the emulator was closed before the calls had arrived');
}
