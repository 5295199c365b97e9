import { SandboxError } from 'nestjs-sandbox';
import { Cleanup } from './cleanup.js';
import { StdoutClosedError, pipeCommand } from './command-pipes.js';
import { InterruptedError, Interruption } from './interruption.js';
import { startLocalStack } from './local-stack.js';

/** As a shell reports a program that wrote to a closed pipe. */
const SIGPIPE_CODE = 141;
/** What other tools that run commands elsewhere exit with when it is their own failure. */
const FAILED = 125;

/** `npm start -- --run`: the command's exit code, or ours. */
export async function run(script: string): Promise<number> {
  using interruption = new Interruption();
  await using cleanup = new Cleanup(report);
  try {
    const { platform, handle } = await startLocalStack(cleanup, interruption, 'keep');
    const command = await interruption.unless(
      platform.sandboxes.spawn(handle, 'bash', ['-c', script], { stdin: true }),
    );
    const { exitCode } = await interruption.unless(pipeCommand(command, process));
    return exitCode;
  } catch (caught) {
    const error: unknown = interruption.signal.aborted ? interruption.signal.reason : caught;
    if (error instanceof InterruptedError) return error.exitCode;
    if (error instanceof StdoutClosedError) return SIGPIPE_CODE;
    const { message } = error as Error;
    report(error instanceof SandboxError ? `${error.code}: ${message}` : message);
    return FAILED;
  }
}

function report(message: string): void {
  process.stderr.write(`npm start: ${message}\n`);
}
