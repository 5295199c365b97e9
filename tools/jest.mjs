// Jest, as every script here runs it.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './run.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const JEST = join(ROOT, 'node_modules', 'jest', 'bin', 'jest.js');
const FLAGS = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];

/** Its exit code with these arguments, and with `env` beside this process's own environment. */
export async function jest(args, env = {}) {
  const ended = await run(process.execPath, [...FLAGS, JEST, ...args], {
    stdio: 'inherit',
    cwd: ROOT,
    env: { ...process.env, ...env },
  });
  return ended.code;
}
