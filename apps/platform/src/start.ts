import 'reflect-metadata';
import { run } from './run.js';
import { serve } from './serve.js';
import { USAGE, parseStartOptions } from './start.options.js';

const REFUSED = 2;

/**
 * What `npm start` does with its arguments. Resolves with the exit code once everything it started has ended and
 * everything it printed was written, so that the caller may end the process at once.
 */
export async function start(argv: readonly string[]): Promise<number> {
  // Closed output shows when it is written to; unheard, the error would end us before the clean-up.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  const options = parseStartOptions(argv);
  if (options.mode === 'serve') return serve();
  if (options.mode === 'run') {
    const code = await run(options.command);
    // Only an interruption leaves a write behind, which nobody may ever take and which would keep this process alive.
    if (process.stdout.writableLength + process.stderr.writableLength > 0) process.exit(code);
    return code;
  }
  if (options.mode === 'help') {
    process.stdout.write(USAGE);
    return 0;
  }
  process.stderr.write(`npm start: ${options.problem}\n\n${USAGE}`);
  return REFUSED;
}
