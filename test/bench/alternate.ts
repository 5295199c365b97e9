import { extremes, median } from './statistics.js';

/** What one round measured on either side. */
export interface Round<T> {
  readonly ours: T;
  readonly comparator: T;
}

/** Measures A B A B …, so that what else goes on in the machine meets both. The first pair warms up and is dropped. */
export async function alternate<T>(
  rounds: number,
  ours: () => Promise<T>,
  comparator: () => Promise<T>,
): Promise<Round<T>[]> {
  const measured: Round<T>[] = [];
  for (let round = 0; round <= rounds; round++) measured.push({ ours: await ours(), comparator: await comparator() });
  return measured.slice(1);
}

/** Medians of one quantity over the rounds, and the ratio of each round's pair. */
export function compare(rounds: readonly Round<number>[]): {
  readonly ours: number;
  readonly comparator: number;
  readonly ratio: number;
  readonly ratios: readonly [least: number, greatest: number];
} {
  const ratios = rounds.map(({ ours, comparator }) => ours / comparator);
  return {
    ours: median(rounds.map(({ ours }) => ours)),
    comparator: median(rounds.map(({ comparator }) => comparator)),
    ratio: median(ratios),
    ratios: extremes(ratios),
  };
}
