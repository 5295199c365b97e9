import { SandboxError } from './sandbox-error.js';

/**
 * Names one sandbox: a small frozen value that survives JSON. Building one does no I/O and proves nothing about the
 * sandbox; what an adapter knows about it lives elsewhere.
 */
export interface SandboxHandle {
  /** The tag of the provider, `[a-z][a-z0-9_]*`. */
  readonly provider: string;
  readonly name: string;
  /** One incarnation under that name; a call with it does not act on another one. */
  readonly instanceId?: string;
}

const PROVIDER_TAG = /^[a-z][a-z0-9_]*$/;

/** Whether `tag` can name a provider. */
export function isProviderTag(tag: string): boolean {
  return PROVIDER_TAG.test(tag);
}

/** A frozen handle. */
export function sandboxHandle(provider: string, name: string, instanceId?: string): SandboxHandle {
  return Object.freeze(instanceId === undefined ? { provider, name } : { provider, name, instanceId });
}

/**
 * The handle in `value`, which may come out of a store or off the network.
 *
 * @throws {SandboxError} `invalid` when it is not one
 */
export function parseHandle(value: unknown): SandboxHandle {
  const { provider, name, instanceId } = (typeof value === 'object' && value !== null ? value : {}) as Record<
    string,
    unknown
  >;
  if (
    typeof provider !== 'string' ||
    !isProviderTag(provider) ||
    typeof name !== 'string' ||
    name === '' ||
    (instanceId !== undefined && typeof instanceId !== 'string')
  ) {
    throw new SandboxError('invalid', {
      detail: 'argument',
      message: 'expected a sandbox handle { provider, name, instanceId? }',
    });
  }
  return sandboxHandle(provider, name, instanceId);
}
