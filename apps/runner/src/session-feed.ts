import { SandboxError, type StreamOffsets } from '#libs/contract/core';
import { JournalReader, type JournalRecord, type JournalView, type SessionEnd, type SessionTail } from '#libs/process';
import { PROTOCOL_LIMITS } from '#libs/protocol';
import { outputFrames } from './output-frames.js';
import { ReachWindow, type Cursor } from './reach-window.js';
import { later } from './tails.js';
import type { Outlet, Turns } from './turns.js';

/** From the beginning of both streams. */
export const BEGINNING: StreamOffsets = Object.freeze({ stdout: 0, stderr: 0 });

interface Replay {
  /** Of the attach that asked for it. */
  readonly requestId: number;
  readonly reader: JournalReader;
  /** The position where live output began when the attach was answered. */
  readonly until: number;
}

export interface FeedContext {
  readonly sandbox: string;
  readonly id: string;
  readonly outlet: Outlet;
  readonly turns: Turns;
  readonly limits: { readonly readBytes: number; readonly rereadBytes: number };
  /** What its readers need no longer has moved. */
  onReach(reach: StreamOffsets): void;
  /** Called once, when the feed has ended, for whatever reason; on `hold` what is kept is wanted all the same. */
  onClosed(reach: 'detached' | 'hold'): void;
}

/**
 * What one attached session sends over one socket: the replays that were asked for, one after another, and then live
 * output, which waits for them at its cursor. Both are the same reading of the journal; nothing else is buffered.
 */
export class SessionFeed {
  /** Resolves when nothing more will be sent. */
  readonly finished: Promise<void>;

  private attempts = 0;

  private readonly window: ReachWindow;
  private readonly replays: Replay[] = [];
  private view: JournalView | undefined;
  private tail: SessionTail | undefined;
  /** How far live output has come; `end`: the end of the session lies before it. Undefined until something started. */
  private live: (Cursor & { readonly end?: SessionEnd | undefined }) | undefined;
  private liveReader: JournalReader | undefined;
  /** Live output that was read but not sent, since a replay came first. */
  private held: (Cursor & { readonly records: readonly JournalRecord[] }) | undefined;
  private reached: StreamOffsets | undefined;
  private running = false;
  private isClosed = false;
  private resume: (() => void) | undefined;
  private finish!: () => void;

  constructor(private readonly context: FeedContext) {
    this.window = new ReachWindow(context.limits.rereadBytes);
    this.finished = new Promise((resolve) => (this.finish = resolve));
  }

  get sandbox(): string {
    return this.context.sandbox;
  }

  get id(): string {
    return this.context.id;
  }

  /** Whether anything was started. */
  get started(): boolean {
    return this.live !== undefined;
  }

  /** An attach is under way: until it starts or fails, the feed outlives the end of its session. */
  begin(): void {
    this.attempts += 1;
  }

  /** An attach that is under way failed. */
  fail(): void {
    this.attempts -= 1;
    if (this.attempts === 0 && !this.started) this.close();
    else this.closeIfEnded();
  }

  /** The journal has grown, or the session ended. */
  grew(tail: SessionTail): void {
    this.tail = later(this.tail, tail);
    this.wake();
  }

  /** What the keeper says of the journal; must come before anything is started. */
  seen(view: JournalView): void {
    this.view = view;
    this.grew(view);
  }

  /** Live output from the beginning of the session. */
  startFromBeginning(): void {
    this.attempts -= 1;
    this.start({ position: 0, offsets: BEGINNING });
  }

  /**
   * Everything from `reader` to where live output has come, tagged with the request; then live output goes on. If
   * there was none, it begins at the tail of this very turn, and everything before is replay.
   */
  startReplay(reader: JournalReader, requestId: number): void {
    this.attempts -= 1;
    if (this.isClosed) return void reader.close();
    const { position, offsets, ended } = this.tail as SessionTail;
    const live = this.live ?? { position, offsets, end: ended };
    this.replays.push({ requestId, reader, until: live.position });
    this.window.note(reader);
    this.start(live);
  }

  /** Stops everything at once. A journal at its cap is let go of at `detached`, even for a moment. Idempotent. */
  close(reach: 'detached' | 'hold' = 'detached'): void {
    if (this.isClosed) return;
    this.isClosed = true;
    for (const { reader } of this.replays) void reader.close();
    void this.liveReader?.close();
    this.replays.length = 0;
    this.held = undefined;
    this.context.onClosed(reach);
    this.wake();
    this.finish();
  }

  private start(live: NonNullable<typeof this.live>): void {
    if (this.isClosed) return;
    this.live = live;
    this.window.note(live);
    this.updateReach();
    this.wake();
    if (this.running) return;
    this.running = true;
    void this.run();
  }

  private async run(): Promise<void> {
    while (!this.isClosed) {
      if (!this.hasWork()) {
        await new Promise<void>((resolve) => (this.resume = resolve));
        continue;
      }
      const leave = await this.context.turns.take();
      if (!this.isClosed) await this.step();
      leave();
    }
  }

  private wake(): void {
    this.resume?.();
    this.resume = undefined;
  }

  private hasWork(): boolean {
    const { live, tail } = this;
    if (this.replays.length > 0 || this.held) return true;
    if (live === undefined || tail === undefined || live.end) return false;
    return live.position < tail.position || tail.ended !== undefined;
  }

  private async step(): Promise<void> {
    const replay = this.replays[0];
    if (replay) await this.stepReplay(replay);
    else await this.stepLive();
    if (this.isClosed) return;
    this.updateReach();
    this.closeIfEnded();
  }

  private closeIfEnded(): void {
    if (this.live?.end && this.replays.length === 0 && this.attempts === 0) this.close();
  }

  private async stepReplay({ requestId, reader, until }: Replay): Promise<void> {
    try {
      const records = await reader.read(until, this.context.limits.readBytes);
      if (this.isClosed) return;
      this.send(records, requestId);
      this.window.note(reader);
      if (reader.position < until) return;
      const end = this.live?.end;
      if (end) this.sendEnd(end, requestId);
    } catch (error) {
      if (this.isClosed) return;
      this.sendError(error, requestId);
    }
    this.replays.shift();
    void reader.close();
  }

  private async stepLive(): Promise<void> {
    try {
      this.held ??= await this.readLive();
    } catch (error) {
      if (this.isClosed) return;
      this.sendError(error);
      return this.close();
    }
    // An attach that was answered meanwhile counts on live output from the cursor: its replay goes first.
    if (this.isClosed || this.replays.length > 0) return;
    const { records, position, offsets } = this.held;
    this.held = undefined;
    this.send(records);
    const { ended, position: last } = this.tail as SessionTail;
    const end = position >= last ? ended : undefined;
    this.live = { position, offsets, end };
    this.window.note(this.live);
    if (end) this.sendEnd(end);
  }

  private async readLive(): Promise<Cursor & { records: readonly JournalRecord[] }> {
    const { offsets } = this.live as Cursor;
    const tail = this.tail as SessionTail;
    const reader = (this.liveReader ??= await JournalReader.open({ ...(this.view as JournalView), ...tail }, offsets));
    if (this.isClosed) await reader.close();
    const records = await reader.read(tail.position, this.context.limits.readBytes);
    return { records, position: reader.position, offsets: reader.offsets };
  }

  private send(records: readonly JournalRecord[], replayFor?: number): void {
    for (const { type, offset, data } of outputFrames(records, PROTOCOL_LIMITS.dataFrameBytes)) {
      this.context.outlet.event(type, { sessionId: this.id, offset, data, ...tagged(replayFor) });
    }
  }

  private sendEnd(end: SessionEnd, replayFor?: number): void {
    if ('lost' in end) {
      const body = { error: 'unavailable', detail: end.lost };
      return this.context.outlet.event('error', { sessionId: this.id, ...body, ...tagged(replayFor) });
    }
    const { exitCode, signal, startError } = end.exit;
    this.context.outlet.event('exit', {
      sessionId: this.id,
      code: exitCode,
      ...(signal !== undefined && { signal }),
      ...(startError !== undefined && { startError }),
      ...(end.stoppedBy !== undefined && { stoppedBy: end.stoppedBy }),
      ...(end.gone !== undefined && { gone: end.gone }),
      ...tagged(replayFor),
    });
  }

  private sendError(error: unknown, replayFor?: number): void {
    const { code, detail } =
      error instanceof SandboxError ? error : new SandboxError('unavailable', { detail: 'journal_failed' });
    const body = { error: code, ...(detail !== undefined && { detail }) };
    this.context.outlet.event('error', { sessionId: this.id, ...body, ...tagged(replayFor) });
  }

  private updateReach(): void {
    const reach = this.window.reach([this.live as Cursor, ...this.replays.map(({ reader }) => reader)]);
    if (this.reached?.stdout === reach.stdout && this.reached.stderr === reach.stderr) return;
    this.reached = reach;
    this.context.onReach(reach);
  }
}

function tagged(replayFor: number | undefined): { replayFor: number } | undefined {
  return replayFor === undefined ? undefined : { replayFor };
}
