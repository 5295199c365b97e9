import type { SandboxHandle } from '#libs/contract';

/** What is not removed by then is removed with later ones, by their number, or with its sandbox. */
const MAX_SANDBOXES = 1000;
const MAX_EACH = 50;

/** Journals that have been read and that nobody can ask for again: the next command of their sandbox removes them. */
export class Rubbish {
  readonly #nonces = new Map<string, string[]>();

  add(handle: SandboxHandle, nonce: string): void {
    const key = keyOf(handle);
    const nonces = this.#nonces.get(key) ?? [];
    if (nonces.length < MAX_EACH) nonces.push(nonce);
    this.#nonces.set(key, nonces);
    const [oldest] = this.#nonces.keys();
    if (this.#nonces.size > MAX_SANDBOXES && oldest !== undefined) this.#nonces.delete(oldest);
  }

  take(handle: SandboxHandle): string[] {
    const key = keyOf(handle);
    const nonces = this.#nonces.get(key) ?? [];
    this.#nonces.delete(key);
    return nonces;
  }
}

function keyOf({ name, instanceId = '' }: SandboxHandle): string {
  return `${name}\n${instanceId}`;
}
