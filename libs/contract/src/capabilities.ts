/**
 * What an adapter may promise beyond the core operations. A capability is a promise about the answer; without it the
 * call is `not_supported` before any effect.
 */
export const SANDBOX_CAPABILITIES = [
  'suspend',
  'attach',
  'terminate_session',
  'files',
  'tty',
  'network_policy',
  'public_url',
  'create_new',
  'checkpoint',
] as const;

/** One of {@link SANDBOX_CAPABILITIES}. */
export type SandboxCapability = (typeof SANDBOX_CAPABILITIES)[number];
