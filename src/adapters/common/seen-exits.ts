/** The newest are remembered: a list that still shows them is late by far less than it takes to see so many. */
const MAX_SEEN = 1000;

/** Sessions whose exit was seen here. A provider may list them for a moment longer, until their shim is gone too. */
export class SeenExits {
  readonly #ids = new Set<string>();

  add(id: string): void {
    this.#ids.add(id);
    const [oldest] = this.#ids;
    if (this.#ids.size > MAX_SEEN && oldest !== undefined) this.#ids.delete(oldest);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
