import type { ConformanceSubject } from '#libs/conformance';

/** A subject with everything that it needs running. */
export interface Target extends AsyncDisposable {
  readonly subject: ConformanceSubject;
}

/** Starts what a subject needs. */
export type OpenTarget = () => Promise<Target>;

/** Milliseconds for the test of a case: more than its own deadline, which tells what did not come. */
export const CASE_MS = 300_000;
