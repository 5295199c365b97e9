/** One line of the report: a measured value beside what it was measured against. */
export interface Figure {
  readonly what: string;
  readonly unit: string;
  readonly ours: number;
  /** Measured in the same run, in alternation with ours. */
  readonly comparator?: { readonly what: string; readonly value: number };
  /** Ours over the comparator: the median of the rounds' own ratios. */
  readonly ratio?: number;
  /** Least and greatest of what the target is about, over the rounds. */
  readonly spread: readonly [least: number, greatest: number];
  readonly target: string;
  readonly holds: boolean;
}

/** What a benchmark is given. */
export interface BenchmarkContext {
  /** Factor for sizes and counts; below 1 only for trying out. @default 1 */
  readonly scale: number;
  /** Where processes that a benchmark starts put their CPU profiles, if they should. */
  readonly profileDir?: string;
  /** Undone when the benchmark has ended or is interrupted, newest first. */
  defer(what: string, undo: () => Promise<unknown>): void;
}

export interface Benchmark {
  /** What `npm run bench -- <name>` calls it. */
  readonly name: string;
  readonly what: string;
  readonly target: string;
  run(context: BenchmarkContext): Promise<readonly Figure[]>;
}

/** `count` times the scale, at least `least`. */
export function scaled({ scale }: BenchmarkContext, count: number, least = 1): number {
  return Math.max(least, Math.round(count * scale));
}
