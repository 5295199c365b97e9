import { randomBytes } from 'node:crypto';

interface Signed {
  readonly port: number;
  readonly expiresAt: number;
}

/** What opens the ports of a private sandbox. */
export class PreviewTokens {
  #token = token(32);
  readonly #signed = new Map<string, Signed>();

  /** For every port, until the next start. */
  get token(): string {
    return this.#token;
  }

  rotate(): void {
    this.#token = token(32);
  }

  /** One for a single port and a time; it outlives a restart. */
  sign(port: number, seconds: number): string {
    const signed = token(16);
    this.#signed.set(signed, { port, expiresAt: Date.now() + seconds * 1000 });
    return signed;
  }

  /** @returns whether there was such a token */
  expire(port: number, signed: string): boolean {
    return this.port(signed) === port && this.#signed.delete(signed);
  }

  /** Which port a signed token opens. */
  port(signed: string): number | undefined {
    const found = this.#signed.get(signed);
    return found && found.expiresAt > Date.now() ? found.port : undefined;
  }
}

function token(length: number): string {
  return randomBytes(length).toString('hex').slice(0, length);
}
