import { randomBytes } from 'node:crypto';
import type { SandboxAdapter, SandboxHandle } from 'nestjs-sandbox';
import { compare, type Round } from '../alternate.js';
import type { BenchmarkContext, Figure } from '../benchmark.js';
import { median } from '../statistics.js';
import type { CallShape } from './emulator-process.js';
import { Emulator } from './emulator.js';
import type { HostedProvider, RunByHand } from './provider.js';

const MOST = 1.1;

/** One measurement of either side, in milliseconds. */
export interface Sides {
  ours(adapter: SandboxAdapter, handle: SandboxHandle): Promise<number>;
  byHand(run: RunByHand): Promise<number>;
}

type Side = keyof Sides;
/** The calls of one command, in their order. */
type Command = readonly CallShape[];

/**
 * Measures the adapter and the client by hand in turn, in one process and on one emulator. Each round has a sandbox of
 * its own and gives the medians of its pairs, of which every second one begins with the other side. The first round
 * warms up and is dropped. No collection of garbage is forced in between: it throws away optimised code as well, which
 * costs most whoever has more code, and no program does it.
 *
 * @throws {Error} when in one round the two ask the provider for different things
 */
export async function sideBySide(
  context: BenchmarkContext,
  provider: HostedProvider,
  { rounds, pairs }: { readonly rounds: number; readonly pairs: number },
  sides: Sides,
): Promise<Round<number>[]> {
  const emulator = await Emulator.start(context, provider);
  const adapter = provider.adapter(emulator.access);
  const measured: Round<number>[] = [];
  for (let round = 0; round <= rounds; round++) {
    const handle = await adapter.create(`bench-${randomBytes(8).toString('hex')}`);
    const run = await provider.byHand(emulator.access, handle);
    const took: Record<Side, number[]> = { ours: [], byHand: [] };
    const calls: Record<Side, Command[]> = { ours: [], byHand: [] };
    for (let pair = 0; pair < pairs; pair++) {
      for (const side of inTurn(round + pair)) {
        const measure = () => (side === 'ours' ? sides.ours(adapter, handle) : sides.byHand(run));
        const watched = await emulator.watch(handle, measure);
        took[side].push(watched.value);
        calls[side].push(watched.calls);
      }
    }
    await adapter.destroy(handle);
    checkSame(calls.ours, calls.byHand);
    measured.push({ ours: median(took.ours), comparator: median(took.byHand) });
  }
  return measured.slice(1);
}

/** A figure of milliseconds, of which fewer are better. */
export function figureOf(what: string, rounds: readonly Round<number>[]): Figure {
  const { ours, comparator, ratio, ratios } = compare(rounds);
  return {
    what,
    unit: 'ms',
    ours,
    comparator: { what: 'by hand', value: comparator },
    ratio,
    spread: ratios,
    target: `≤ ${MOST} ×`,
    holds: ratio <= MOST,
  };
}

function inTurn(count: number): readonly Side[] {
  return count % 2 === 0 ? ['ours', 'byHand'] : ['byHand', 'ours'];
}

/** Times are comparable only while both ask for the same. How often either has to poll depends on the time it takes. */
function checkSame(ours: readonly Command[], byHand: readonly Command[]): void {
  const isSame = tally(ours) === tally(byHand) && samePolls(ours, byHand);
  if (!isSame) throw new Error(`the adapter called:\n${told(ours)}\nthe client by hand:\n${told(byHand)}`);
}

/** Of all but polls. */
function tally(commands: readonly Command[]): string {
  return told(commands.map((calls) => calls.filter(({ isPoll }) => !isPoll)));
}

/** Where both polled once for a command they did it in the same ways, and where both did it again. */
function samePolls(ours: readonly Command[], byHand: readonly Command[]): boolean {
  return [firstPolls, laterPolls].every((polls) => {
    const [left, right] = [polls(ours), polls(byHand)];
    return left === '' || right === '' || left === right;
  });
}

function firstPolls(commands: readonly Command[]): string {
  return kinds(commands.flatMap((calls) => pollsOf(calls).slice(0, 1)));
}

function laterPolls(commands: readonly Command[]): string {
  return kinds(commands.flatMap((calls) => pollsOf(calls).slice(1)));
}

function pollsOf(calls: Command): string[] {
  return calls.filter(({ isPoll }) => isPoll).map(({ words }) => words);
}

function kinds(polls: readonly string[]): string {
  return [...new Set(polls)].toSorted().join('\n');
}

function told(commands: readonly Command[]): string {
  const counts = new Map<string, number>();
  for (const { words, isPoll } of commands.flat()) {
    const call = isPoll ? `poll of ${words}` : words;
    counts.set(call, (counts.get(call) ?? 0) + 1);
  }
  return [...counts]
    .map(([call, count]) => `  ${count} × ${call}`)
    .toSorted()
    .join('\n');
}
