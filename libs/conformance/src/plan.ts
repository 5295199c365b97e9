import { ALL_CASES } from './all-cases.js';
import type { CaseNeed, ConformanceCase } from './conformance-case.js';
import { runCase } from './run-case.js';
import type { ConformanceSubject } from './subject.js';

/** A case for one subject. */
export interface PlannedCase extends Omit<ConformanceCase, 'run'> {
  /** Why it does not run on this subject; absent if it does. */
  readonly notRun?: string;
  /** @throws {ConformanceError} when it fails; also when it is not to be run */
  run(): Promise<void>;
}

/** Every case, in the order of the suite; those that do not run on this subject with the reason. */
export function conformancePlan(
  subject: ConformanceSubject,
  cases: readonly ConformanceCase[] = ALL_CASES,
): readonly PlannedCase[] {
  const unknown = Object.keys(subject.knownFailures ?? {}).filter((id) => !cases.some((one) => one.id === id));
  if (unknown.length > 0 && cases === ALL_CASES) throw new Error(`knownFailures: no case ${unknown.join(', ')}`);
  return cases.map((one) => {
    const notRun = whyNot(subject, one);
    const run = notRun === undefined ? () => runCase(subject, one) : () => Promise.reject(new Error(notRun));
    return { ...one, ...(notRun !== undefined && { notRun }), run };
  });
}

/**
 * The cases that run on this subject. Registering them is the caller's loop:
 *
 * ```ts
 * for (const one of conformanceCases(subject)) test(`${one.id} ${one.title}`, () => one.run());
 * ```
 */
export function conformanceCases(subject: ConformanceSubject): readonly PlannedCase[] {
  return conformancePlan(subject).filter(({ notRun }) => notRun === undefined);
}

function whyNot(subject: ConformanceSubject, { needs = [], lacks }: ConformanceCase): string | undefined {
  const capabilities = subject.capabilities ?? subject.adapter.capabilities;
  if (lacks !== undefined && capabilities.has(lacks)) return `has ${lacks}: the case is for adapters without`;
  const missing = needs.find((need) => !has(subject, capabilities, need));
  return missing === undefined ? undefined : reasonFor(missing);
}

function has(subject: ConformanceSubject, capabilities: ReadonlySet<string>, need: CaseNeed): boolean {
  const [kind, name] = need.split(':', 2) as [string, string | undefined];
  if (name === undefined) return capabilities.has(kind);
  const { faults: fault, insight, words: word, adapter } = subject;
  const source = { fault, insight, word, trait: adapter.traits }[kind] ?? {};
  const value = (source as Record<string, unknown>)[name];
  return value !== undefined && value !== false;
}

function reasonFor(need: CaseNeed): string {
  const [kind, name] = need.split(':', 2) as [string, string | undefined];
  if (name === undefined) return `has no ${kind}: its refusal is tested instead`;
  const what = { fault: 'cannot inject', insight: 'cannot tell', word: 'has no word', trait: 'does not declare' }[kind];
  return `the subject ${what} ${name}`;
}
