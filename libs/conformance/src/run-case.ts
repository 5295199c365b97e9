import { CaseContext } from './case-context.js';
import type { ConformanceCase } from './conformance-case.js';
import { ConformanceError } from './conformance-error.js';
import { Mismatch } from './mismatch.js';
import type { ConformanceSubject } from './subject.js';
import { Transcript } from './transcript.js';

const TIMEOUT_MS = 30_000;
/** For closing what a case opened. */
const CLOSING_MS = 30_000;

/**
 * Runs one case against one subject, in a sandbox of its own and within its own deadline.
 *
 * A case that is a known failure of the subject must fail: it then resolves, and rejects when it passes.
 *
 * @throws {ConformanceError} what was expected and what was seen
 */
export async function runCase(subject: ConformanceSubject, one: ConformanceCase): Promise<void> {
  const transcript = new Transcript();
  const failure = await failureOf(subject, one, transcript);
  const known = subject.knownFailures?.[one.id];
  if (known === undefined) {
    if (failure !== undefined) throw new ConformanceError(one, failure.cause, transcript);
  } else if (failure === undefined) {
    const mended = new Mismatch('a known failure', `it to fail still: ${known}`, 'it passes; take the entry out');
    throw new ConformanceError(one, mended, transcript);
  }
}

async function failureOf(
  subject: ConformanceSubject,
  one: ConformanceCase,
  transcript: Transcript,
): Promise<{ cause: unknown } | undefined> {
  const over = new AbortController();
  const t = new CaseContext(subject, transcript, over.signal);
  let failure: { cause: unknown } | undefined;
  try {
    await t.within('the case', one.timeoutMs ?? TIMEOUT_MS, one.run(t));
  } catch (cause) {
    failure = { cause };
  }
  over.abort();
  try {
    const [first] = await t.within('closing what the case opened', CLOSING_MS, t.close());
    if (first !== undefined) throw first;
    if (failure === undefined) await expectNothingLeft(subject);
  } catch (cause) {
    failure ??= { cause };
  }
  return failure;
}

async function expectNothingLeft({ insight }: ConformanceSubject): Promise<void> {
  const left = (await insight?.leftovers?.()) ?? [];
  if (left.length > 0) throw new Mismatch('after the sandbox was destroyed', 'nothing of it', left.join('; '));
}
