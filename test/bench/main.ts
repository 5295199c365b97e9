import { resolve } from 'node:path';
import { BENCHMARKS } from './benchmarks.js';
import { machine } from './machine.js';
import { HELP, readOptions, type BenchOptions } from './options.js';
import { reportText, row, rowText, type Report, type Row } from './report.js';
import { runRow } from './run-row.js';

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** The whole program, from the arguments to the exit code. Figures are not tests: a missed target is no failure. */
export async function main(argv: readonly string[]): Promise<number> {
  let options: BenchOptions;
  try {
    options = readOptions(argv);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return 2;
  }
  if (options.help) process.stdout.write(HELP);
  else if (options.list) for (const { name, what, target } of BENCHMARKS) print(`${name}\n  ${what}\n  ${target}`);
  else return run(options);
  return 0;
}

async function run({ names, json, scale, profileDir }: BenchOptions): Promise<number> {
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
  const rows: Row[] = [];
  const report: Report = { machine: machine(), scale, startedAt: new Date().toISOString(), rows };
  if (!json) print(reportText(report));
  for (const benchmark of BENCHMARKS.filter(({ name }) => names.includes(name))) {
    if (json) say(`${benchmark.name} …`);
    const question = {
      name: benchmark.name,
      scale,
      ...(profileDir !== undefined && { profileDir: resolve(profileDir) }),
    };
    let done: Row;
    try {
      done = row(benchmark, { figures: await runRow(question, interrupted.signal) });
    } catch (error) {
      if (interrupted.signal.aborted) return 130;
      done = row(benchmark, { figures: [], failed: error instanceof Error ? error.message : String(error) });
    }
    rows.push(done);
    if (!json) print(rowText(done));
  }
  if (json) print(JSON.stringify(report, undefined, 2));
  return rows.some(({ failed }) => failed !== undefined) ? 1 : 0;
}
