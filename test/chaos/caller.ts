import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError } from 'nestjs-sandbox';
import { BACK_MS, HUNG_MS } from './bounds.js';
import type { Evidence, Ran } from './evidence.js';

/** A story cannot go on; what there is to say of it was reported. */
export class StoryOver extends Error {}

/** Calls that change nothing, so that nothing happened when they fail. */
const READS: ReadonlySet<string> = new Set(['get', 'attach', 'listSessions']);
const RETRY_MS = 100;

/** Makes the calls of one story: each has a bound, and every rejection is evidence. */
export class Caller {
  /** When the session was asked for. */
  openedAt: number | undefined;
  private marked = 0;

  constructor(
    private readonly story: number,
    private readonly marks: { readonly prefix: string },
    private readonly report: (evidence: Evidence) => void,
  ) {}

  /** @throws {SandboxError} @throws {StoryOver} */
  async call<T>(operation: string, work: () => PromiseLike<T>): Promise<T> {
    const from = Date.now();
    try {
      return await this.bounded(operation, work());
    } catch (error) {
      throw this.refused(operation, from, error);
    }
  }

  /** Calls until the runner can be reached. @throws {SandboxError} any other refusal @throws {StoryOver} */
  async again<T>(operation: string, work: () => PromiseLike<T>): Promise<T> {
    for (const until = Date.now() + BACK_MS; ;) {
      try {
        return await this.call(operation, work);
      } catch (error) {
        if (!isUnreachable(error)) throw error;
      }
      await this.pause(operation, until);
    }
  }

  /**
   * Runs a command once: again after a refusal that says that nothing ran, never after another. The files that the
   * attempts leave must agree.
   *
   * @throws {SandboxError} @throws {StoryOver}
   */
  async once<T>(operation: 'exec' | 'spawn', work: (mark: string) => PromiseLike<T>): Promise<T> {
    for (const until = Date.now() + BACK_MS; ;) {
      const mark = `${this.marks.prefix}-${this.story}-${++this.marked}`;
      const askedAt = Date.now();
      try {
        const result = await this.call(operation, () => work(mark));
        if (operation === 'spawn') this.openedAt = askedAt;
        this.mark(mark, 'once', askedAt);
        return result;
      } catch (error) {
        const ran = error instanceof SandboxError ? RAN[error.effect] : 'perhaps';
        this.mark(mark, ran, askedAt);
        if (ran !== 'no' || !isUnreachable(error)) throw error;
      }
      await this.pause(operation, until);
    }
  }

  /** The file that the last attempt of {@link once} was given. */
  get lastMark(): string {
    return `${this.marks.prefix}-${this.story}-${this.marked}`;
  }

  lie(what: string): void {
    this.report({ type: 'lie', story: this.story, what });
  }

  hung(what: string): StoryOver {
    this.report({ type: 'hung', story: this.story, what });
    return new StoryOver();
  }

  /** Reports a rejection; gives what is to be thrown on. */
  refused(operation: string, from: number, error: unknown): unknown {
    if (error instanceof StoryOver) return error;
    if (!(error instanceof SandboxError)) {
      this.report({ type: 'failure', what: `${operation} rejected ${String((error as Error)?.stack ?? error)}` });
      return new StoryOver();
    }
    const { code, detail, effect } = error;
    this.report({
      type: 'refused',
      story: this.story,
      operation,
      from,
      to: Date.now(),
      ...(this.openedAt !== undefined && { openedAt: this.openedAt }),
      code,
      ...(detail !== undefined && { detail }),
      effect,
    });
    if (READS.has(operation) && effect !== 'none')
      this.lie(`${operation} only reads, and failed with effect ${effect}`);
    return error;
  }

  /** Before the next attempt. @throws {StoryOver} when there were attempts for too long */
  async pause(operation: string, until: number): Promise<void> {
    if (Date.now() > until) throw this.hung(`${operation}: the runner did not come back within ${BACK_MS} ms`);
    await sleep(RETRY_MS);
  }

  private mark(mark: string, ran: Ran, at: number): void {
    this.report({ type: 'mark', story: this.story, at, mark, ran });
  }

  private async bounded<T>(operation: string, promise: PromiseLike<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(this.hung(`${operation} had no outcome after ${HUNG_MS} ms`)), HUNG_MS);
    });
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

const RAN: Record<SandboxError['effect'], Ran> = { none: 'no', unknown: 'perhaps', done: 'once' };

const UNREACHABLE: ReadonlySet<string | undefined> = new Set([
  'runner_offline',
  'runner_disconnected',
  'runner_timeout',
  'draining',
]);

/** Whether the way to the runner was missing, so that trying again may help. */
export function isUnreachable(error: unknown): boolean {
  return error instanceof SandboxError && UNREACHABLE.has(error.detail);
}
