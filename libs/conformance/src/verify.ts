import { runConformance, type ConformanceReport, type RunOptions } from './report.js';
import type { ConformanceSubject } from './subject.js';

/**
 * Runs the suite and gives its report.
 *
 * @throws {AggregateError} when a case of level MUST fails, after all cases have run: its message holds each failure with
 *   its transcript, its `errors` hold one Error each
 */
export async function verify(subject: ConformanceSubject, options?: RunOptions): Promise<ConformanceReport> {
  const report = await runConformance(subject, options);
  const failures = report.results.flatMap(({ level, failure }) => (level === 'MUST' && failure ? [failure] : []));
  if (failures.length === 0) return report;
  throw new AggregateError(
    failures.map((failure) => new Error(failure)),
    `${subject.name} breaks ${failures.length} of the contract's MUST:\n\n${failures.join('\n\n')}`,
  );
}
