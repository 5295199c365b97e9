/**
 * How a provider behaves where the contract leaves a choice. Data of the adapter: callers, documentation and the
 * conformance suite read the same object.
 */
export interface SandboxTraits {
  /** What a suspend does to running sessions: they end, honestly; they go on after the resume; one or the other. */
  readonly sessionsOnSuspend: 'end' | 'survive' | 'either';
  /** Whether `suspend` parks at once, so that `get` says `suspended`, or the platform parks when it wants to. */
  readonly parks: 'on_request' | 'by_itself';
  /** Whether a reader of a file that is being written sees the old content or the new, never a part. */
  readonly atomicWrites: boolean;
  /** What `listAllNames` sees: the whole account, or what is online at this moment. */
  readonly listing: 'account' | 'online';
  /**
   * Whether every call heeds the `instanceId` of its handle. `false`: the provider addresses by name, and it is looked at
   * right before a destroy, a restore and a terminate, and by what asks for the sandbox itself.
   */
  readonly exactIncarnations: boolean;
}

/** The traits of an adapter that declares none. */
export const DEFAULT_TRAITS: SandboxTraits = Object.freeze({
  sessionsOnSuspend: 'either',
  parks: 'on_request',
  atomicWrites: true,
  listing: 'account',
  exactIncarnations: true,
});
