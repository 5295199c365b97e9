import type { Benchmark, Figure } from './benchmark.js';
import type { Machine } from './machine.js';

/** What one benchmark gave. */
export interface Row {
  readonly name: string;
  readonly what: string;
  readonly target: string;
  readonly figures: readonly Figure[];
  /** Why there are none. */
  readonly failed?: string;
}

export interface Report {
  readonly machine: Machine;
  readonly scale: number;
  readonly startedAt: string;
  readonly rows: readonly Row[];
}

export function row({ name, what, target }: Benchmark, outcome: Pick<Row, 'figures' | 'failed'>): Row {
  return { name, what, target, ...outcome };
}

const HEADINGS = ['', 'ours', 'compared with', 'ratio', 'target', 'holds', 'spread'];

/** The report as lines for people. */
export function reportText({ machine, scale, rows }: Report): string {
  const { platform, cpu, cores, memoryGiB, load, node, bufferutil } = machine;
  const facts = [
    `${cores} cores (${cpu}), ${memoryGiB} GiB, load ${load.toFixed(1)}`,
    `${platform}, Node ${node}, bufferutil ${bufferutil ? 'on' : 'off'}`,
    ...(scale === 1 ? [] : [`sizes × ${scale}: not the figures that the targets are about`]),
  ];
  return [...facts, ...rows.map(rowText)].join('\n');
}

/** One benchmark as a table. */
export function rowText({ name, what, figures, failed }: Row): string {
  const title = `\n${name}: ${what}`;
  if (failed !== undefined) return `${title}\n  failed: ${failed}`;
  const cells = [HEADINGS, ...figures.map(figureCells)];
  const widths = HEADINGS.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)));
  const lines = cells.map((line) => line.map((cell, column) => cell.padEnd(widths[column] as number)).join('  '));
  return [title, ...lines.map((line) => `  ${line.trimEnd()}`)].join('\n');
}

function figureCells({ what, unit, ours, comparator, ratio, target, holds, spread }: Figure): string[] {
  return [
    what,
    `${short(ours)} ${unit}`.trim(),
    comparator ? `${comparator.what}: ${short(comparator.value)}` : '',
    ratio === undefined ? '' : `${ratio.toFixed(2)} ×`,
    target,
    holds ? 'yes' : 'NO',
    `${short(spread[0])} … ${short(spread[1])}`,
  ];
}

function short(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits);
}
