import type { ConformanceSubject } from '#libs/conformance';

/** A subject with everything that it needs running. */
export interface Target extends AsyncDisposable {
  readonly subject: ConformanceSubject;
}

/** Starts what a subject needs. */
export type OpenTarget = () => Promise<Target>;
