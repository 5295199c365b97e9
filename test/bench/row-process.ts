// One benchmark in a process of its own, so that none runs in what another one left in memory.
import 'reflect-metadata';
import type { Figure } from './benchmark.js';
import { BENCHMARKS } from './benchmarks.js';
import { Teardown } from './teardown.js';

export interface RowQuestion {
  readonly name: string;
  readonly scale: number;
  readonly profileDir?: string;
}

export type RowAnswer = { readonly figures: readonly Figure[] } | { readonly failed: string };

const teardown = new Teardown();

async function run({ name, ...given }: RowQuestion): Promise<RowAnswer> {
  try {
    const benchmark = BENCHMARKS.find((known) => known.name === name);
    if (!benchmark) throw new Error(`no benchmark is called ${name}`);
    return { figures: await benchmark.run({ ...given, defer: teardown.defer.bind(teardown) }) };
  } catch (error) {
    return { failed: error instanceof Error ? String(error.stack) : String(error) };
  }
}

async function main(question: RowQuestion): Promise<void> {
  const answer = await run(question);
  await teardown.run();
  process.send?.(answer, () => process.exit(0));
}

async function stop(): Promise<void> {
  await teardown.run();
  process.exit(1);
}

// The terminal's Ctrl-C reaches this process too; whoever started it decides.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => void stop());
process.once('disconnect', () => void stop());
process.once('message', (question) => void main(question as RowQuestion));
