import type { SandboxInfo } from '#libs/contract';
import { asObject } from '../common/json.js';

/** What a state means for whoever wants to use the sandbox. */
export type Phase =
  /** Commands run. */
  | 'running'
  /** Commands run once it is started, and none does until then. */
  | 'parked'
  /** As that, but what ran in it stands still and goes on then. */
  | 'frozen'
  /** It is on its way to another state. */
  | 'changing'
  /** It is on its way out. */
  | 'going'
  /** Waiting does not help. */
  | 'failed';

const PHASES: ReadonlyMap<unknown, Phase> = new Map([
  ['started', 'running'],
  ['stopped', 'parked'],
  ['archived', 'parked'],
  ['paused', 'frozen'],
  ['destroying', 'going'],
  ['destroyed', 'going'],
  ['error', 'failed'],
  ['build_failed', 'failed'],
]);

const STATUS: ReadonlyMap<unknown, SandboxInfo['status']> = new Map([
  ['started', 'running'],
  ['starting', 'running'],
  ['resuming', 'running'],
  ['stopped', 'suspended'],
  ['stopping', 'suspended'],
  ['archived', 'suspended'],
  ['archiving', 'suspended'],
  ['paused', 'suspended'],
  ['pausing', 'suspended'],
]);

/** What is read of a sandbox; the rest of the answer stays as it came. */
export interface SandboxResource {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly phase: Phase;
  readonly status: SandboxInfo['status'];
  /** A stop deletes it. */
  readonly isEphemeral: boolean;
  /** Of the proxy, without the id. */
  readonly toolboxUrl?: string;
  readonly raw: unknown;
}

/** Whether a sandbox can have that id. Others may not even stay within a path. */
export function isSandboxId(id: unknown): id is string {
  return typeof id === 'string' && /^[A-Za-z0-9-]{1,256}$/.test(id);
}

/** `undefined`: not a sandbox. */
export function sandboxResource(raw: unknown): SandboxResource | undefined {
  const { id, name, state, toolboxProxyUrl, autoDeleteInterval } = asObject(raw) ?? {};
  if (!isSandboxId(id) || typeof name !== 'string') return undefined;
  return {
    id,
    name,
    state: typeof state === 'string' && /^[a-z_]{1,40}$/.test(state) ? state : 'unknown',
    phase: PHASES.get(state) ?? 'changing',
    status: STATUS.get(state) ?? 'unknown',
    isEphemeral: autoDeleteInterval === 0,
    ...(typeof toolboxProxyUrl === 'string' && toolboxProxyUrl !== '' && { toolboxUrl: toolboxProxyUrl }),
    raw,
  };
}
