import { Cleanup } from './cleanup.js';
import { Interruption } from './interruption.js';
import { startLocalStack, type RunnerCredential } from './local-stack.js';

/** `npm start`: shows that it works, and stays until it is asked to end. */
export async function serve(): Promise<number> {
  using interruption = new Interruption();
  await using cleanup = new Cleanup(report);
  try {
    const { platform, handle, spare, daemonEnded } = await startLocalStack(cleanup, interruption, 'inherit');
    const { output, exitCode } = await interruption.unless(platform.sandboxes.exec(handle, 'uname', ['-a']));
    process.stdout.write(output);
    if (exitCode !== 0) throw new Error(`uname -a exited with ${exitCode}`);
    process.stdout.write(welcome(platform.url, handle.name, spare));
    const problem = await Promise.race([daemonEnded, interruption.happened]);
    if (typeof problem === 'string') throw new Error(`The runner is gone: ${problem}`);
    process.stdout.write('Draining\n');
    return 0;
  } catch (error) {
    if (interruption.signal.aborted) return 0;
    report((error as Error).message);
    return 1;
  }
}

function welcome(url: string, sandbox: string, { token }: RunnerCredential): string {
  return `
The line above came from the sandbox ${sandbox}, through ${url}

Connect another runner, from a second terminal in this directory:

  SANDBOX_RUNNER_URL=${url} SANDBOX_RUNNER_TOKEN=${token} \\
    SANDBOX_RUNNER_ROOT="$(mktemp -d)" node dist/apps/runner/src/main.js

Health: ${url}/health    Stop: Ctrl-C
`;
}

function report(message: string): void {
  process.stderr.write(`npm start: ${message}\n`);
}
