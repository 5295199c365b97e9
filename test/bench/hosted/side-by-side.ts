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

/**
 * Measures the adapter and the client by hand in turn, in one process and on one emulator. Each round has a sandbox of
 * its own and gives the medians of its pairs, of which every second one begins with the other side. The first round
 * warms up and is dropped.
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
    const calls: Record<Side, CallShape[]> = { ours: [], byHand: [] };
    for (let pair = 0; pair < pairs; pair++) {
      for (const side of inTurn(round + pair)) {
        const measure = () => (side === 'ours' ? sides.ours(adapter, handle) : sides.byHand(run));
        // What one side left is not collected at the cost of the other.
        globalThis.gc?.();
        const watched = await emulator.watch(handle, measure);
        took[side].push(watched.value);
        calls[side].push(...watched.calls);
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

/**
 * Times are comparable only while both ask for the same. How often either polls is its own affair; the one that had to
 * poll less must have done so in the ways of the other.
 */
function checkSame(ours: readonly CallShape[], byHand: readonly CallShape[]): void {
  const [left, right] = [pollsOf(ours), pollsOf(byHand)];
  const [fewer, more] = left.size < right.size ? [left, right] : [right, left];
  const isSame = tally(ours) === tally(byHand) && [...fewer].every((poll) => more.has(poll));
  if (!isSame) throw new Error(`the adapter called:\n${told(ours)}\nthe client by hand:\n${told(byHand)}`);
}

function pollsOf(calls: readonly CallShape[]): Set<string> {
  return new Set(calls.filter(({ isPoll }) => isPoll).map(({ words }) => words));
}

/** Of all but polls. */
function tally(calls: readonly CallShape[]): string {
  return told(calls.filter(({ isPoll }) => !isPoll));
}

function told(calls: readonly CallShape[]): string {
  const counts = new Map<string, number>();
  for (const { words, isPoll } of calls) {
    const call = isPoll ? `poll of ${words}` : words;
    counts.set(call, (counts.get(call) ?? 0) + 1);
  }
  return [...counts]
    .map(([call, count]) => `  ${count} × ${call}`)
    .toSorted()
    .join('\n');
}
