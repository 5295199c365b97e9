import { COUNTERS, type Counter, type Counts } from './counters.js';
import { faultText, type Fault } from './faults.js';
import type { ChaosOptions } from './options.js';

export interface ChaosReport {
  readonly options: Pick<ChaosOptions, 'seed' | 'seconds' | 'daemons' | 'sessions'>;
  readonly tookSeconds: number;
  readonly stories: { readonly begun: number; readonly exits: number };
  /** Compared with what was printed. */
  readonly bytesRead: number;
  /** How often which fault was done. */
  readonly faults: Readonly<Record<string, number>>;
  /** How often callers were told what. */
  readonly refused: Readonly<Record<string, number>>;
  readonly counters: Counts;
  readonly findings: readonly string[];
}

const MOST_FINDINGS = 40;

export function isClean({ counters }: Pick<ChaosReport, 'counters'>): boolean {
  return Object.values(counters).every((count) => count === 0);
}

/** Ends with the line that has every counter by its name. */
export function reportText(report: ChaosReport, plan: readonly Fault[]): string {
  const { options, tookSeconds, stories, bytesRead, faults, refused, counters, findings } = report;
  const lines = [
    `${stories.begun} stories, ${stories.exits} exits, ${(bytesRead / 1e6).toFixed(1)} MB compared in ${tookSeconds} s`,
    `faults: ${counted(faults)}`,
    `refusals: ${counted(refused) || 'none'}`,
  ];
  if (!isClean(report)) {
    lines.push('', ...findings.slice(0, MOST_FINDINGS).map((finding) => `  ${finding}`));
    if (findings.length > MOST_FINDINGS) lines.push(`  and ${findings.length - MOST_FINDINGS} more`);
    lines.push('', 'The counters that are not 0:');
    for (const [name, count] of Object.entries(counters)) {
      if (count > 0) lines.push(`  ${name}: ${COUNTERS[name as Counter]}`);
    }
    lines.push('', 'The faults, by the part of the time in which there are any:', ...plan.map(faultText));
    lines.push('', `Repeat: npm run chaos -- ${argumentsOf(options)}`);
  }
  const closing = Object.entries(counters).map(([name, count]) => `${name} ${count}`);
  return [...lines, `seed ${options.seed}: ${closing.join(', ')}`].join('\n');
}

export function argumentsOf({ seed, seconds, daemons, sessions }: ChaosReport['options']): string {
  return `--seed ${seed} --seconds ${seconds} --daemons ${daemons} --sessions ${sessions}`;
}

function counted(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([what, count]) => `${what} ${count}`)
    .join('; ');
}
