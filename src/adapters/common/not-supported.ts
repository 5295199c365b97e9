import { SandboxError } from '#libs/contract';

/** Refused before anything was done: the provider, or this sandbox, does not have it. */
export function notSupported(message: string): SandboxError {
  return new SandboxError('not_supported', { effect: 'none', message });
}
