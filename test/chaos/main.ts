import { planFaults } from './faults.js';
import { HELP, readOptions, type ChaosOptions } from './options.js';
import { argumentsOf, isClean, reportText } from './report.js';
import { FAULTY_PART, runChaos } from './run.js';

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** The whole program, from the arguments to the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  let options: ChaosOptions;
  try {
    options = readOptions(argv);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return 2;
  }
  if (!options.help) return run(options);
  process.stdout.write(HELP);
  return 0;
}

async function run(options: ChaosOptions): Promise<number> {
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
  (options.json ? say : print)(`chaos with ${argumentsOf(options)}`);
  try {
    const plan = planFaults(options.seed, options.daemons, options.seconds * FAULTY_PART);
    const report = await runChaos(options, plan, interrupted.signal);
    print(options.json ? JSON.stringify({ ...report, plan }, undefined, 2) : reportText(report, plan));
    return isClean(report) ? 0 : 1;
  } catch (error) {
    if (interrupted.signal.aborted) return 130;
    say(error instanceof Error ? String(error.stack) : String(error));
    return 1;
  }
}
