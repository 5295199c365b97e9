import type { SandboxAdapter, SandboxCapability, SandboxHandle, SandboxOperation } from '#libs/contract';
import type { Vocabulary } from './vocabulary.js';

/** An adapter with what the suite must know of its surroundings. */
export interface ConformanceSubject {
  /** As the report names it, such as `runner`. */
  readonly name: string;
  readonly adapter: SandboxAdapter;
  /** How a sandbox of this adapter is told what to do. `shellWords` suits every machine with a POSIX shell. */
  readonly words: Vocabulary;
  /** A valid name that no sandbox has; never the same twice. */
  newName(): string;
  /** What a sandbox can do now, where that is less than the adapter's maximum. @default `adapter.capabilities` */
  readonly capabilities?: ReadonlySet<SandboxCapability>;
  /** What the provider tells of a process beyond the exit code. @default all of it */
  readonly tells?: Partial<SubjectTells>;
  /** Multiplies every deadline of the suite, for slow machines and networks. @default 1 */
  readonly slowness?: number;
  /** Multiplies the bytes of the volume cases, 0–1, for providers that bill by the byte. @default 1 */
  readonly volume?: number;
  /** How to break what the adapter relies on. What is absent is not tested. */
  readonly faults?: SubjectFaults;
  /** How to look behind the adapter. What is absent is not tested. */
  readonly insight?: SubjectInsight;
  /** Why a case fails, by its id. It must still fail, so that the entry cannot outlive the fault. */
  readonly knownFailures?: Readonly<Record<string, string>>;
}

/** What a provider tells of a process. */
export interface SubjectTells {
  /** `exit.signal` of a process that died of a signal. */
  readonly signals: boolean;
  /** `exit.startError` of a program that did not start. */
  readonly startErrors: boolean;
  /** stderr apart from stdout. */
  readonly stderrApart: boolean;
}

/** Takes a fault back. Called once, also when it has struck. */
export type Heal = () => void | Promise<void>;

/**
 * Faults that a subject can inject. Each arms one fault, for what comes next on any sandbox of the adapter, and gives
 * the way to take it back.
 */
export interface SubjectFaults {
  /** The transport of the next command breaks once `bytes` bytes of its output have come. */
  cutAfter?(bytes: number): Heal | Promise<Heal>;
  /** The output of the next command ends in good order, but no exit comes. */
  closeBeforeExit?(): Heal | Promise<Heal>;
  /** Every frame of the next command comes twice. */
  repeatFrames?(): Heal | Promise<Heal>;
  /** More frames of the next command come after its end. */
  lateFrames?(): Heal | Promise<Heal>;
  /** The provider refuses the next call of `operation` with a passing failure, before it does anything. */
  failBefore?(operation: SandboxOperation): Heal | Promise<Heal>;
  /** As `failBefore`: calls come too often, and the provider says after how many milliseconds to try again. */
  limitRate?(operation: SandboxOperation, retryAfterMs: number): Heal | Promise<Heal>;
  /** The provider carries out the next call of `operation`, and its answer is lost. */
  failAfter?(operation: SandboxOperation): Heal | Promise<Heal>;
  /** Of the next listing of all names, a part cannot be had. */
  failPage?(): Heal | Promise<Heal>;
  /** The provider takes what is sent and answers nothing until healed. */
  stall?(): Heal | Promise<Heal>;
}

/** Ways to look behind the adapter. */
export interface SubjectInsight {
  /** Another client of the same account, which knows nothing of what the first one did. */
  anotherClient?(): Promise<{ readonly adapter: SandboxAdapter; close(): Promise<void> }>;
  /** Requests that have gone out so far: a refusal before any I/O leaves it where it was. */
  requestCount?(): number;
  /** Which hosts the provider lets the sandbox reach; `undefined`: all. */
  egress?(handle: SandboxHandle): Promise<readonly string[] | undefined>;
  /** What is left of a sandbox that was destroyed: processes, directories, sockets. One description each. */
  leftovers?(): Promise<readonly string[]>;
}
