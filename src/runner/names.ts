import { randomBytes } from 'node:crypto';
import { SandboxError } from '#libs/contract';

const RUNNER_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const SANDBOX_NAME = /^runner-([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})-[0-9a-f]{8}$/;

/** Whether `id` is a UUID in its dashed form, in either case. */
export function isRunnerId(id: unknown): id is string {
  return typeof id === 'string' && RUNNER_ID.test(id);
}

/**
 * Mints a name for a sandbox on that runner: `runner-<32 hex>-<8 hex>`, the UUID without its dashes and 4 random bytes.
 *
 * @throws {SandboxError} `invalid` when `runnerId` is not a dashed UUID
 */
export function runnerSandboxName(runnerId: string): string {
  if (!isRunnerId(runnerId)) {
    throw new SandboxError('invalid', { detail: 'argument', message: 'runnerId: expected a UUID with dashes' });
  }
  return `runner-${runnerId.replaceAll('-', '').toLowerCase()}-${randomBytes(4).toString('hex')}`;
}

/**
 * The runner that a sandbox name carries, as a lowercase UUID with dashes.
 *
 * @throws {SandboxError} `invalid` / `not_a_runner_sandbox_name`
 */
export function parseRunnerSandboxName(name: string): string {
  const parts = typeof name === 'string' ? SANDBOX_NAME.exec(name) : null;
  if (parts === null) {
    throw new SandboxError('invalid', {
      detail: 'not_a_runner_sandbox_name',
      message: 'expected a runner sandbox name, runner-<32 hex>-<8 hex>, as runnerSandboxName() makes them',
    });
  }
  return parts.slice(1).join('-');
}
