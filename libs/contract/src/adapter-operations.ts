import type { SandboxCapability } from './capabilities.js';

/** What is true of an operation whichever adapter serves it. */
export interface OperationTraits {
  /** Changes nothing, so that its errors have effect `none`. */
  readonly readOnly?: true;
  /** Without it the call is `not_supported`. */
  readonly needs?: SandboxCapability;
}

/** Every asynchronous operation of an adapter by its method name. */
export const SANDBOX_OPERATIONS = {
  capabilitiesOf: { readOnly: true },
  create: {},
  createNew: { needs: 'create_new' },
  get: { readOnly: true },
  destroy: {},
  listAllNames: { readOnly: true },
  suspend: { needs: 'suspend' },
  resume: { needs: 'suspend' },
  writeFile: {},
  readFile: { readOnly: true, needs: 'files' },
  listFiles: { readOnly: true, needs: 'files' },
  statFile: { readOnly: true, needs: 'files' },
  exec: {},
  spawn: {},
  listSessions: { readOnly: true, needs: 'attach' },
  attach: { readOnly: true, needs: 'attach' },
  terminateSession: { needs: 'terminate_session' },
  applyNetworkPolicy: { needs: 'network_policy' },
  publicUrl: { readOnly: true, needs: 'public_url' },
  createCheckpoint: { needs: 'checkpoint' },
  restoreCheckpoint: { needs: 'checkpoint' },
  hostPath: { readOnly: true },
} as const satisfies Record<string, OperationTraits>;

/** The name of a call, as errors and observers have it. */
export type SandboxOperation = keyof typeof SANDBOX_OPERATIONS;
