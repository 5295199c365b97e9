import {
  ALL_CASES,
  conformancePlan,
  conformanceTable,
  runConformance,
  type CaseResult,
  type ConformanceCase,
  type ConformanceReport,
} from '#libs/conformance';
import { HELP, readOptions, type ConformanceOptions } from './options.js';
import { TARGETS } from './targets/targets.js';

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const say = (text: string): void => void process.stderr.write(`${text}\n`);

/** The whole program, from the arguments to the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  let options: ConformanceOptions;
  try {
    options = readOptions(
      argv,
      ALL_CASES.map(({ id }) => id),
    );
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return 2;
  }
  if (options.help) process.stdout.write(HELP);
  else if (options.list) for (const one of ALL_CASES) print(listed(one));
  else return report(options);
  return 0;
}

async function report({ targets, cases, json }: ConformanceOptions): Promise<number> {
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      interrupted.abort();
      say(`${signal}: waits for the case that runs, and cleans up; once more ends at once`);
    });
  }
  const reports: ConformanceReport[] = [];
  for (const name of targets) {
    // A target that was interrupted is closed all the same.
    await using target = await TARGETS[name]!();
    const only = ({ id }: ConformanceCase): boolean =>
      !interrupted.signal.aborted && (cases.length === 0 || cases.some((one) => id.startsWith(one)));
    const total = conformancePlan(target.subject).filter((one) => only(one)).length;
    say(`${name}: ${total} cases`);
    let done = 0;
    // Of a case that is interrupted nothing can be said.
    const onResult = (result: CaseResult): void => {
      done += 1;
      if (!interrupted.signal.aborted) progress(name, result, `${done} of ${total}`);
    };
    reports.push(await runConformance(target.subject, { only, onResult }));
    if (interrupted.signal.aborted) return 130;
  }
  print(json ? JSON.stringify(reports, undefined, 2) : conformanceTable(reports));
  const sum = (key: 'passed' | 'failed' | 'mustFailed'): number => reports.reduce((total, one) => total + one[key], 0);
  if (!json) print(`\n${sum('passed')} passed, ${sum('failed')} failed`);
  return sum('mustFailed') > 0 ? 1 : 0;
}

/** Failures are in the report; here they only show that something goes on, as does the count on a terminal. */
function progress(target: string, { id, outcome, durationMs }: CaseResult, count: string): void {
  if (outcome === 'failed') say(`${target} ${id} FAIL after ${durationMs} ms`);
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${target}: ${count}\r`);
}

function listed({ id, level, title, needs = [], lacks }: ConformanceCase): string {
  const conditions = [...needs.map((need) => `needs ${need}`), ...(lacks === undefined ? [] : [`without ${lacks}`])];
  return `${id}  ${level.padEnd(6)}  ${title}${conditions.length > 0 ? `  (${conditions.join(', ')})` : ''}`;
}
