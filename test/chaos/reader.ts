import { setTimeout as sleep } from 'node:timers/promises';
import {
  SandboxError,
  type Exit,
  type OutputFrame,
  type SandboxCommand,
  type SandboxHandle,
  type SandboxService,
  type StreamOffsets,
} from 'nestjs-sandbox';
import { BACK_MS, HUNG_MS } from './bounds.js';
import { StoryOver, isUnreachable, type Caller } from './caller.js';
import type { Evidence } from './evidence.js';
import type { Prng } from './prng.js';
import { before, type Story } from './story.js';
import { StreamCheck } from './stream-check.js';

export interface ReaderContext {
  readonly sandboxes: SandboxService;
  readonly caller: Caller;
  readonly report: (evidence: Evidence) => void;
  readonly signal: AbortSignal;
}

export interface Reading {
  readonly story: Story;
  readonly handle: SandboxHandle;
  readonly sessionId: string;
  readonly random: Prng;
  /** Take stdin over with each attach. */
  readonly stdin?: boolean;
  /** Told of each command that is read from, and of every place that was reached. */
  readonly onCommand?: (command: SandboxCommand) => void;
  readonly onProgress?: (next: StreamOffsets) => void;
}

/** One reader of a session, from wherever it begins to the end of the session, over as many attaches as it takes. */
export class Reader {
  private check: StreamCheck;
  private detachAfter: number | undefined;
  private read = 0;
  private sleptMs = 0;

  constructor(
    private readonly context: ReaderContext,
    private readonly reading: Reading,
    from: StreamOffsets = { stdout: 0, stderr: 0 },
  ) {
    this.check = new StreamCheck(reading.story.content, from);
    this.detachAfter = reading.story.detachAfter;
  }

  get next(): StreamOffsets {
    return this.check.next;
  }

  /**
   * @param first what `spawn` gave; without it an attach comes first
   * @returns the exit; undefined when the session is lost. `printed` is how much there must be at its own exit
   * @throws {StoryOver}
   */
  async toEnd(first?: SandboxCommand, printed?: (exit: Exit) => StreamOffsets | undefined): Promise<Exit | undefined> {
    let command = first;
    try {
      for (let until = Date.now() + BACK_MS; ;) {
        const from = Date.now();
        try {
          command ??= await this.attach();
          this.reading.onCommand?.(command);
          const exit = await this.readOf(command);
          const whole = printed?.(exit);
          if (whole) this.check.end(whole);
          return exit;
        } catch (error) {
          if (!(error instanceof SandboxError)) throw this.context.caller.refused('read', from, error);
          // An attach has reported its own.
          if (command && !this.letGo(error)) this.context.caller.refused('read', from, error);
          if (!isUnreachable(error) && error.detail !== 'detached') return undefined;
          if (command) until = Date.now() + BACK_MS;
        }
        command = undefined;
        await this.context.caller.pause('attach', until);
      }
    } finally {
      this.settle();
    }
  }

  private async attach(): Promise<SandboxCommand> {
    const { sandboxes, caller, signal } = this.context;
    const { story, handle, sessionId, random, stdin = false } = this.reading;
    if (story.rereads) {
      const from = before(random, this.check.next);
      this.settle();
      this.check = new StreamCheck(story.content, from);
    }
    return caller.call('attach', () => sandboxes.attach(handle, sessionId, { from: this.check.next, stdin, signal }));
  }

  /** Whether this reader itself had let go. */
  private letGo(error: SandboxError): boolean {
    return (
      error.detail === 'detached' && this.reading.story.detachAfter !== undefined && this.detachAfter === undefined
    );
  }

  /** Reports what was wrong with the bytes so far. */
  private settle(): void {
    const { read, faults } = this.check;
    this.context.report({ type: 'bytes', story: this.reading.story.index, read, faults });
    this.check = new StreamCheck(this.reading.story.content, this.check.next);
  }

  private async readOf(command: SandboxCommand): Promise<Exit> {
    const { caller } = this.context;
    let watch: NodeJS.Timeout | undefined;
    const silent = new Promise<never>((_, reject) => {
      watch = setTimeout(() => {
        reject(caller.hung(`a reader got neither bytes nor an end for ${HUNG_MS} ms`));
        void command.stop().catch(() => {});
      }, HUNG_MS);
    });
    try {
      return await Promise.race([silent, this.drain(command, () => watch?.refresh())]);
    } finally {
      clearTimeout(watch);
    }
  }

  private async drain(command: SandboxCommand, alive: () => void): Promise<Exit> {
    const { readBy } = this.reading.story;
    const take = (frame: OutputFrame): void => {
      alive();
      this.take(command, frame);
    };
    if (readBy === 'forEach') {
      return command.forEach(async (frame) => {
        take(frame);
        await this.dawdle();
      });
    }
    if (readBy === 'observable') {
      return new Promise((resolve, reject) => {
        command.frames$.subscribe({
          next: (frame) => (frame.type === 'exit' ? resolve(exitOf(frame)) : take(frame)),
          error: reject,
          complete: () => reject(new Error('the output completed without an exit')),
        });
      });
    }
    for await (const frame of command) {
      if (frame.type === 'exit') return exitOf(frame);
      take(frame);
      await this.dawdle();
    }
    throw new Error('the output completed without an exit');
  }

  /** Slow, but not for ever. */
  private async dawdle(): Promise<void> {
    const { slowMs, longestSlowMs } = this.reading.story;
    if (slowMs === 0 || this.sleptMs > longestSlowMs) return;
    this.sleptMs += slowMs;
    await sleep(slowMs);
  }

  private take(command: SandboxCommand, frame: OutputFrame): void {
    this.check.take(frame);
    this.read += frame.data.byteLength;
    this.reading.onProgress?.(this.check.next);
    if (this.detachAfter === undefined || this.read < this.detachAfter) return;
    this.detachAfter = undefined;
    this.context.caller
      .call('stop', () => command.stop())
      .catch((error: unknown) => {
        if (!(error instanceof SandboxError || error instanceof StoryOver)) throw error;
      });
  }
}

function exitOf({ exitCode, signal, startError }: Exit): Exit {
  return { exitCode, ...(signal && { signal }), ...(startError !== undefined && { startError }) };
}
