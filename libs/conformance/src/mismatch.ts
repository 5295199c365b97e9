/** What a case saw instead of what it expected. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch';

  constructor(
    readonly what: string,
    readonly expected: string,
    readonly observed: string,
  ) {
    super(`${what}: expected ${expected}, observed ${observed}`);
  }
}
