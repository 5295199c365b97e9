import type { CaseLevel, ConformanceCase } from './conformance-case.js';
import { conformancePlan } from './plan.js';
import type { ConformanceSubject } from './subject.js';

/** What became of a case. */
export interface CaseResult {
  readonly id: string;
  readonly title: string;
  readonly level: CaseLevel;
  readonly outcome: 'passed' | 'failed' | 'known_failure' | 'not_run';
  /** Of a known failure, or why it was not run. */
  readonly reason?: string;
  /** What was expected and observed, with the transcript. */
  readonly failure?: string;
  readonly durationMs: number;
}

/** What became of all cases on one subject. Survives JSON. */
export interface ConformanceReport {
  readonly target: string;
  readonly capabilities: readonly string[];
  readonly results: readonly CaseResult[];
  /** Counted over all levels. */
  readonly passed: number;
  readonly failed: number;
  /** Cases of level MUST among the failed. */
  readonly mustFailed: number;
}

/** How the suite is run. */
export interface RunOptions {
  /** Runs only the cases for which it gives true. @default all */
  readonly only?: (one: ConformanceCase) => boolean;
  /** Called with each result as it comes. */
  readonly onResult?: (result: CaseResult) => void;
  /** @default all cases of the suite */
  readonly cases?: readonly ConformanceCase[];
}

/** Runs every case that the subject can run, one after the other, and collects all results. */
export async function runConformance(
  subject: ConformanceSubject,
  options: RunOptions = {},
): Promise<ConformanceReport> {
  const results: CaseResult[] = [];
  for (const one of conformancePlan(subject, options.cases)) {
    if (options.only?.(one) === false) continue;
    const result = await resultOf(subject, one);
    results.push(result);
    options.onResult?.(result);
  }
  const failures = results.filter(({ outcome }) => outcome === 'failed');
  return {
    target: subject.name,
    capabilities: [...(subject.capabilities ?? subject.adapter.capabilities)].toSorted(),
    results,
    passed: results.filter(({ outcome }) => outcome === 'passed').length,
    failed: failures.length,
    mustFailed: failures.filter(({ level }) => level === 'MUST').length,
  };
}

async function resultOf(
  subject: ConformanceSubject,
  one: ReturnType<typeof conformancePlan>[number],
): Promise<CaseResult> {
  const { id, title, level, notRun } = one;
  if (notRun !== undefined) return { id, title, level, outcome: 'not_run', reason: notRun, durationMs: 0 };
  const startedAtMs = performance.now();
  const durationMs = (): number => Math.round(performance.now() - startedAtMs);
  try {
    await one.run();
  } catch (error) {
    const failure = error instanceof Error ? error.message : String(error);
    return { id, title, level, outcome: 'failed', failure, durationMs: durationMs() };
  }
  const known = subject.knownFailures?.[id];
  if (known === undefined) return { id, title, level, outcome: 'passed', durationMs: durationMs() };
  return { id, title, level, outcome: 'known_failure', reason: known, durationMs: durationMs() };
}
