import { spawn, type SpawnOptions } from 'node:child_process';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What the npm that runs this test says to its scripts is not for an npm that a user types. */
export function userEnvironment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, npm_config_local_prefix: _prefix, ...env } = process.env;
  return { ...env, ...more };
}

/** Runs a program to its end. */
export function runProgram(program: string, args: readonly string[], options: SpawnOptions = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: userEnvironment(), ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/**
 * The same, for programs that should succeed.
 *
 * @throws {Error} with all that it printed
 */
export async function succeed(program: string, args: readonly string[], options?: SpawnOptions): Promise<string> {
  const { code, stdout, stderr } = await runProgram(program, args, options);
  if (code === 0) return stdout;
  throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${stdout}\n${stderr}`);
}
