import type { ConformanceSubject } from '#libs/conformance';
import type { Target } from '../targets/target.js';

/** A subject with one defect, and the cases that must catch it. Each id is in one of the three lists. */
export interface Mutant {
  readonly name: string;
  /** What is wrong, as a sentence. */
  readonly defect: string;
  /** It has to run in a Node process of its own, which is what its cases look at. @default false */
  readonly inNode?: boolean;
  /** A new one each time. */
  make(): ConformanceSubject | Promise<Target>;
  /** By their own statement: they saw something else than they expected. */
  readonly caughtBy: readonly string[];
  /** By the mutant's own error: the defect is that it refuses what it must do. */
  readonly caughtByRefusal?: readonly string[];
  /** By the end of their time: the defect is that something never comes. */
  readonly caughtByHanging?: readonly string[];
}

/** Every case that a mutant names. */
export function namedBy({ caughtBy, caughtByRefusal = [], caughtByHanging = [] }: Mutant): readonly string[] {
  return [...caughtBy, ...caughtByRefusal, ...caughtByHanging];
}
