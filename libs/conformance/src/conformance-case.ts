import type { SandboxCapability } from '#libs/contract';
import type { CaseContext } from './case-context.js';
import type { PromiseId } from './promises.js';
import type { SubjectFaults, SubjectInsight } from './subject.js';
import type { OptionalWord } from './vocabulary.js';

/** MUST: an adapter without it is broken. SHOULD: users expect it. MAY: worth knowing. */
export type CaseLevel = 'MUST' | 'SHOULD' | 'MAY';

/** What a case cannot run without. */
export type CaseNeed =
  | SandboxCapability
  | `fault:${keyof SubjectFaults}`
  | `insight:${keyof SubjectInsight}`
  | `word:${OptionalWord}`
  | 'trait:atomicWrites'
  | 'trait:exactIncarnations';

/** One statement about every adapter, and the way to find out. A value: who runs it, and how, is the caller's. */
export interface ConformanceCase {
  /** Permanent: `<group>-<three digits>`; never given to another statement. */
  readonly id: string;
  /** The statement, as a sentence without a subject that would be the adapter. */
  readonly title: string;
  readonly level: CaseLevel;
  /** Which promise of the contract it holds. */
  readonly promise: PromiseId;
  /** Without one of these it does not run, and says which is missing. @default none */
  readonly needs?: readonly CaseNeed[];
  /** The twin for adapters without that capability: runs only where it is declared absent. */
  readonly lacks?: SandboxCapability;
  /** Milliseconds, before the subject's own factor. @default 30 000 */
  readonly timeoutMs?: number;
  run(t: CaseContext): Promise<void>;
}
