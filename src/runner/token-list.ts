import { createHash, timingSafeEqual } from 'node:crypto';
import { isRunnerId } from './names.js';

/** Characters that a runner token has at least. */
const MIN_TOKEN_LENGTH = 16;

interface Entry {
  readonly runnerId: string;
  readonly digest: Buffer;
}

/** Tokens of runners, kept as digests. */
export class TokenList {
  readonly #entries: readonly Entry[];

  /**
   * @param text `<runner uuid>:<token>` entries, separated by commas, spaces or newlines
   * @throws {Error} naming the entry at fault by its position, never its content
   */
  constructor(text = '') {
    const written = text.split(/[\s,]+/).filter((entry) => entry !== '');
    this.#entries = written.map(parse);
    // Only one of two runners with one token could ever dial in.
    for (const [index, { runnerId, digest: own }] of this.#entries.entries()) {
      const first = this.#entries.findIndex((other) => other.digest.equals(own));
      if (this.#entries[first]?.runnerId !== runnerId) throw fault(index, `has the token of entry ${first + 1}`);
    }
  }

  get size(): number {
    return this.#entries.length;
  }

  /** Whose token it is. Compares with every entry, so that the time taken tells nothing. */
  runnerOf(token: string): string | undefined {
    const asked = digest(token);
    let found: string | undefined;
    for (const { runnerId, digest: known } of this.#entries) {
      if (timingSafeEqual(known, asked)) found = runnerId;
    }
    return found;
  }
}

function parse(entry: string, index: number): Entry {
  const at = entry.indexOf(':');
  const runnerId = entry.slice(0, Math.max(at, 0));
  const token = entry.slice(at + 1);
  if (!isRunnerId(runnerId)) throw fault(index, 'does not begin with a runner UUID and a colon');
  if (token.length < MIN_TOKEN_LENGTH) throw fault(index, `has a token of less than ${MIN_TOKEN_LENGTH} characters`);
  return { runnerId: runnerId.toLowerCase(), digest: digest(token) };
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function fault(index: number, what: string): Error {
  return new Error(`RUNNER_TOKENS: entry ${index + 1} ${what}; expected <runner uuid>:<token>`);
}
