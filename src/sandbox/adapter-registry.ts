import { SandboxError, isProviderTag, type CallObserver, type SandboxAdapter } from '#libs/contract';

/** Which adapter serves which provider tag. */
export class AdapterRegistry {
  readonly #byTag: ReadonlyMap<string, SandboxAdapter>;

  /**
   * Binds each adapter to its tag, and lets `observer` see its calls.
   *
   * @throws {Error} for a malformed tag, for something that is no adapter, and for one instance under two tags
   */
  constructor(entries: Iterable<readonly [tag: string, adapter: SandboxAdapter]>, observer?: CallObserver) {
    const byTag = new Map<string, SandboxAdapter>();
    const tags = new Map<SandboxAdapter, string>();
    for (const [tag, adapter] of entries) {
      if (!isProviderTag(tag)) {
        throw new Error(`SandboxModule: "${tag}" cannot name a provider; rename it to match [a-z][a-z0-9_]*`);
      }
      if (typeof (adapter as Partial<SandboxAdapter> | undefined)?.bind !== 'function') {
        throw new Error(`SandboxModule: the adapter "${tag}" is no SandboxAdapter; check its definition in "adapters"`);
      }
      const other = tags.get(adapter);
      if (other !== undefined) {
        throw new Error(
          `SandboxModule: "${other}" and "${tag}" are one adapter instance; give each tag a provider of its own`,
        );
      }
      adapter.bind(tag);
      if (observer !== undefined) adapter.observe(observer);
      tags.set(adapter, tag);
      byTag.set(tag, adapter);
    }
    this.#byTag = byTag;
  }

  /** Every configured tag. */
  get tags(): readonly string[] {
    return [...this.#byTag.keys()];
  }

  /** @throws {SandboxError} `invalid` / `unknown_provider`, with the known tags in its message */
  get(tag: string): SandboxAdapter {
    const adapter = this.#byTag.get(tag);
    if (adapter !== undefined) return adapter;
    const known = this.tags.join(', ') || 'none configured; pass "adapters" to SandboxModule.forRoot()';
    throw new SandboxError('invalid', {
      detail: 'unknown_provider',
      message: `unknown sandbox provider ${describeTag(tag)}; known: ${known}`,
    });
  }
}

/** A tag may come from outside: only what looks like one is repeated. */
function describeTag(tag: unknown): string {
  return typeof tag === 'string' && tag.length <= 64 && isProviderTag(tag) ? `"${tag}"` : '(malformed tag)';
}
