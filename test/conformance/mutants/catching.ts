import { ALL_CASES, ConformanceError, Mismatch, runCase, type ConformanceSubject } from '#libs/conformance';
import { SandboxError } from '#libs/contract';
import type { Mutant } from './mutant.js';

/** How a case caught a mutant, if it did. */
export const CATCH = {
  mismatch: 'by a mismatch',
  refusal: 'by a refusal',
  hanging: 'by the end of its time',
  nothing: 'not at all',
} as const;

/** The fake kills what is deaf to TERM 2 s after it, however little time a case has. */
const SLOWNESS: Readonly<Record<string, number>> = { 'LIM-002': 0.5 };

/** Milliseconds that a case has, before the haste of its subject, where it is not to be caught by hanging. */
const PATIENCE_MS = 300_000;

/** Runs a case on a mutant, and says how that was caught: one of {@link CATCH}, or what happened instead. */
export async function catchOf(mutant: Mutant, id: string): Promise<string> {
  const found = ALL_CASES.find((some) => some.id === id);
  if (found === undefined) return 'there is no such case';
  const one = mutant.caughtByHanging?.includes(id) ? found : { ...found, timeoutMs: PATIENCE_MS };
  const made = await mutant.make();
  const given: ConformanceSubject = 'subject' in made ? made.subject : made;
  const subject = { ...given, slowness: SLOWNESS[id] ?? given.slowness ?? 1 };
  try {
    await runCase(subject, one);
    return CATCH.nothing;
  } catch (error) {
    if (!(error instanceof ConformanceError)) throw error;
    return kindOf(error);
  } finally {
    if ('subject' in made) await made[Symbol.asyncDispose]();
  }
}

function kindOf({ cause, message }: ConformanceError): string {
  if (cause instanceof SandboxError) return CATCH.refusal;
  const isOfTheCase = cause instanceof Mismatch && !cause.what.startsWith('closing');
  if (!isOfTheCase) return `by something else: ${message}`;
  return cause.what === 'the case' ? CATCH.hanging : CATCH.mismatch;
}
