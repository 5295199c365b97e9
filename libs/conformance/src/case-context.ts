import {
  SandboxError,
  type SandboxAdapter,
  type SandboxCommand,
  type SandboxHandle,
  type SpawnOptions,
} from '#libs/contract';
import { Mismatch } from './mismatch.js';
import { Reading, type ReadingOptions } from './reading.js';
import { recordedAdapter } from './recorded.js';
import type { ConformanceSubject, Heal, SubjectFaults, SubjectInsight, SubjectTells } from './subject.js';
import type { Transcript } from './transcript.js';
import type { Vocabulary, Words } from './vocabulary.js';

const TELLS_ALL: SubjectTells = { signals: true, startErrors: true, stderrApart: true };
const POLL_MS = 20;

/** What a case is given. Everything that it opens through here is closed after it, however it went. */
export class CaseContext {
  /** Every call is in the transcript. */
  readonly adapter: SandboxAdapter;
  readonly words: Vocabulary;
  readonly tells: SubjectTells;
  readonly #closers: (() => unknown)[] = [];

  constructor(
    readonly subject: ConformanceSubject,
    readonly transcript: Transcript,
    /** Fires when the case has run out of time. */
    readonly signal: AbortSignal,
  ) {
    this.adapter = recordedAdapter(subject.adapter, transcript);
    this.words = subject.words;
    this.tells = { ...TELLS_ALL, ...subject.tells };
  }

  /** So many milliseconds, times the subject's slowness. */
  ms(milliseconds: number): number {
    return milliseconds * (this.subject.slowness ?? 1);
  }

  /** So many bytes, times the subject's volume. */
  volume(bytes: number): number {
    return Math.max(1, Math.round(bytes * (this.subject.volume ?? 1)));
  }

  /** Runs it after the case, last first. What it throws fails the case. */
  defer(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** A name that no sandbox has. What gets it is destroyed after the case. */
  newName(): string {
    const name = this.subject.newName();
    this.defer(() => this.subject.adapter.destroy(this.subject.adapter.buildHandle(name)));
    return name;
  }

  /** A sandbox of this case's own. */
  sandbox(): Promise<SandboxHandle> {
    return this.adapter.create(this.newName());
  }

  /** Runs a command and gives its result. */
  exec(
    handle: SandboxHandle,
    { cmd, args }: Words,
    options?: Parameters<SandboxAdapter['exec']>[3],
  ): ReturnType<SandboxAdapter['exec']> {
    return this.adapter.exec(handle, cmd, args, options);
  }

  /** Starts a command. It is let go of after the case. */
  async spawn(handle: SandboxHandle, { cmd, args }: Words, options?: SpawnOptions): Promise<SandboxCommand> {
    return this.#keep(await this.adapter.spawn(handle, cmd, args, options));
  }

  /** Joins a session. It is let go of after the case. */
  async attach(...args: Parameters<SandboxAdapter['attach']>): Promise<SandboxCommand> {
    return this.#keep(await this.adapter.attach(...args));
  }

  /** Reads the output of a command from now on. */
  read(command: SandboxCommand, options?: ReadingOptions): Reading {
    return new Reading(command, this.transcript, options);
  }

  /** Spawns a command and reads it. */
  async run(handle: SandboxHandle, words: Words, options?: SpawnOptions): Promise<Reading> {
    return this.read(await this.spawn(handle, words, options));
  }

  /** The id of a command that can be joined. */
  sessionId({ sessionId }: SandboxCommand): string {
    if (sessionId !== undefined) return sessionId;
    throw new Mismatch('sessionId of a command of an adapter with attach', 'an id', 'none');
  }

  /** Injects a fault that the case needs. It is taken back after the case, and by calling what this gives. */
  async inject<F extends keyof SubjectFaults>(
    fault: F,
    ...args: Parameters<NonNullable<SubjectFaults[F]>>
  ): Promise<Heal> {
    const inject = this.subject.faults?.[fault] as ((...args: unknown[]) => Heal | Promise<Heal>) | undefined;
    if (inject === undefined) throw new Error(`this case must declare that it needs fault:${fault}`);
    this.transcript.note(`! ${fault}(${args.join(', ')})`);
    const heal = await Reflect.apply(inject, this.subject.faults, args);
    let healed: void | Promise<void>;
    let isHealed = false;
    const once = (): void | Promise<void> => {
      if (!isHealed) {
        isHealed = true;
        healed = heal();
      }
      return healed;
    };
    this.defer(once);
    return once;
  }

  /** Another client of the same account, closed after the case. Needs `insight:anotherClient`. */
  async anotherClient(): Promise<SandboxAdapter> {
    const other = await this.#insight('anotherClient')();
    this.defer(() => other.close());
    return recordedAdapter(other.adapter, this.transcript);
  }

  /** Requests that have gone out so far. Needs `insight:requestCount`. */
  requestCount(): number {
    return this.#insight('requestCount')();
  }

  /** Which hosts the provider lets the sandbox reach; `undefined`: all. Needs `insight:egress`. */
  egress(handle: SandboxHandle): Promise<readonly string[] | undefined> {
    return this.#insight('egress')(handle);
  }

  /** Asks again and again until the answer is not `undefined`; the case's own deadline ends it. */
  async eventually<T>(what: string, probe: () => T | undefined | Promise<T | undefined>): Promise<T> {
    while (!this.signal.aborted) {
      const value = await probe();
      if (value !== undefined) return value;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw new Mismatch(what, 'it in time', 'the end of the time');
  }

  /** Rejects unless it settles in time. For calls whose promptness is the statement. */
  async within<T>(what: string, milliseconds: number, promise: PromiseLike<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const limitMs = this.ms(milliseconds);
      timer = setTimeout(() => reject(new Mismatch(what, `it within ${limitMs} ms`, 'nothing by then')), limitMs);
    });
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes what was opened, last first, whatever fails. */
  async close(): Promise<unknown[]> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    return failures;
  }

  #insight<I extends keyof SubjectInsight>(what: I): NonNullable<SubjectInsight[I]> {
    const tell = this.subject.insight?.[what];
    if (tell === undefined) throw new Error(`this case must declare that it needs insight:${what}`);
    return tell.bind(this.subject.insight) as NonNullable<SubjectInsight[I]>;
  }

  #keep(command: SandboxCommand): SandboxCommand {
    this.defer(async () => {
      // Its own error is none of the clean-up.
      await command.stop().catch((error: unknown) => {
        if (!(error instanceof SandboxError)) throw error;
      });
    });
    return command;
  }
}
