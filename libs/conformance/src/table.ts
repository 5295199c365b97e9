import type { CaseResult, ConformanceReport } from './report.js';

const MARKS = { passed: 'pass', failed: 'FAIL', known_failure: 'known', not_run: '–' } as const;

/** Cases down, targets across, and below it why cases failed or were not run. */
export function conformanceTable(reports: readonly ConformanceReport[]): string {
  const rows = new Map<string, CaseResult>();
  for (const { results } of reports) for (const result of results) rows.set(result.id, rows.get(result.id) ?? result);
  const width = (report: ConformanceReport): number => Math.max(5, report.target.length);
  const head = `${'case'.padEnd(8)} ${'level'.padEnd(6)} ${reports.map((one) => one.target.padEnd(width(one))).join(' ')}  title`;
  const lines = [...rows.values()].map(({ id, level, title }) => {
    const marks = reports.map((report) => {
      const result = report.results.find((one) => one.id === id);
      return (result === undefined ? '' : MARKS[result.outcome]).padEnd(width(report));
    });
    return `${id.padEnd(8)} ${level.padEnd(6)} ${marks.join(' ')}  ${title}`;
  });
  return [head, ...lines, ...reports.flatMap(notes)].join('\n');
}

function notes({ target, results }: ConformanceReport): string[] {
  const reasons = new Map<string, string[]>();
  for (const { id, outcome, reason } of results) {
    if (reason === undefined) continue;
    const why = outcome === 'known_failure' ? `known failure: ${reason}` : reason;
    reasons.set(why, [...(reasons.get(why) ?? []), id]);
  }
  const failures = results.flatMap(({ failure }) => (failure === undefined ? [] : ['', failure]));
  if (reasons.size === 0 && failures.length === 0) return [];
  return ['', `${target}:`, ...[...reasons].map(([why, ids]) => `  – ${why}: ${ids.join(', ')}`), ...failures];
}
