import { SandboxError, type StreamOffsets } from '#libs/contract/core';
import { JournalReader, type JournalView, type SessionKeeper } from '#libs/process';
import { replayEvicted } from '#libs/protocol';
import type { LinkLimits } from './limits.js';
import { BEGINNING, SessionFeed } from './session-feed.js';
import { sessionKey, type Tails } from './tails.js';
import { Turns, type Outlet } from './turns.js';

export interface FeedsContext {
  readonly keeper: Pick<SessionKeeper, 'journal' | 'reach'>;
  readonly tails: Tails;
  readonly outlet: Outlet;
  readonly limits: LinkLimits;
}

export interface Attachment {
  /** Where the replay begins. */
  readonly from: StreamOffsets;
  /** To be called in the turn of the reply. */
  start(): void;
}

/** The sessions that are attached over one socket. A new socket begins with none. */
export class Feeds {
  private readonly feeds = new Map<string, SessionFeed>();
  private readonly turns: Turns;

  /** Sessions that the platform has left for a moment: nothing of them may be evicted until it comes back. */
  private readonly held = new Map<string, { readonly sandbox: string; readonly id: string }>();

  constructor(private readonly context: FeedsContext) {
    this.turns = new Turns(context.outlet, context.limits.reads);
    context.outlet.signal.addEventListener('abort', () => this.closeAll());
  }

  get size(): number {
    return this.feeds.size;
  }

  /** A session that was just started: all of its output, live. */
  async open(sandbox: string, id: string): Promise<Attachment> {
    return this.prepare(sandbox, id, (feed) => {
      return Promise.resolve({ from: BEGINNING, start: () => feed.startFromBeginning() });
    });
  }

  /** @throws {SandboxError} `not_found`; `invalid` / `offset_beyond_end`; `truncated` / `replay_evicted` */
  async attach(sandbox: string, id: string, requestId: number, from: StreamOffsets | 'now'): Promise<Attachment> {
    return this.prepare(sandbox, id, async (feed, view) => {
      const reader = await openReader(view, from === 'now' ? view.offsets : from);
      return { from: reader.offsets, start: () => feed.startReplay(reader, requestId) };
    });
  }

  /**
   * Where the session is attached, or is about to be, this takes effect at once. `hold`: nothing more is sent, but all
   * that is kept is wanted.
   *
   * @throws {SandboxError} `not_found`
   */
  async detach(sandbox: string, id: string, hold: boolean): Promise<void> {
    const { keeper } = this.context;
    const key = sessionKey(sandbox, id);
    const reach = hold ? 'hold' : 'detached';
    const feed = this.feeds.get(key);
    if (feed) feed.close(reach);
    else await keeper.journal(sandbox, id);
    // An attach that came after this request has the last word.
    if (this.feeds.has(key) || this.context.outlet.signal.aborted) return;
    if (hold) this.held.set(key, { sandbox, id });
    else this.held.delete(key);
    keeper.reach(sandbox, id, reach);
  }

  /** Which sandbox an attached session belongs to, for requests that do not say so. */
  sandboxOf(id: string): string | undefined {
    for (const feed of this.feeds.values()) if (feed.id === id) return feed.sandbox;
    return undefined;
  }

  /** Resolves when the feeds of a sandbox whose sessions have ended have sent everything. */
  async finished(sandbox: string): Promise<void> {
    await Promise.all([...this.feeds.values()].filter((feed) => feed.sandbox === sandbox).map((feed) => feed.finished));
  }

  /**
   * The feed is entered before anything is awaited: from there on it hears of the tail, and a detach that comes in
   * between closes this one and no later one.
   */
  private async prepare(
    sandbox: string,
    id: string,
    open: (feed: SessionFeed, view: JournalView) => Promise<Attachment>,
  ): Promise<Attachment> {
    const feed = this.feeds.get(sessionKey(sandbox, id)) ?? this.enter(sandbox, id);
    feed.begin();
    try {
      const view = await this.context.keeper.journal(sandbox, id);
      feed.seen(view);
      return await open(feed, view);
    } catch (error) {
      feed.fail();
      throw error;
    } finally {
      if (this.context.outlet.signal.aborted) this.closeAll();
    }
  }

  /** The socket is lost: nothing is attached or held any more. */
  private closeAll(): void {
    for (const { sandbox, id } of [...this.feeds.values(), ...this.held.values()]) {
      this.feeds.get(sessionKey(sandbox, id))?.close();
      this.context.keeper.reach(sandbox, id, 'detached');
    }
    this.held.clear();
  }

  private enter(sandbox: string, id: string): SessionFeed {
    const key = sessionKey(sandbox, id);
    const { outlet, limits, keeper, tails } = this.context;
    const unfollow = tails.follow(sandbox, id, (tail) => feed.grew(tail));
    const feed = new SessionFeed({
      sandbox,
      id,
      outlet,
      turns: this.turns,
      limits,
      onReach: (reach) => {
        this.held.delete(key);
        keeper.reach(sandbox, id, reach);
      },
      onClosed: (reach) => {
        unfollow();
        if (feed.started) keeper.reach(sandbox, id, reach);
        if (this.feeds.get(key) === feed) this.feeds.delete(key);
      },
    });
    this.feeds.set(key, feed);
    return feed;
  }
}

/** The keeper knows nothing of the wire: its refusal becomes the one that tells the platform what is still kept. */
async function openReader(view: JournalView, from: StreamOffsets): Promise<JournalReader> {
  try {
    return await JournalReader.open(view, from);
  } catch (error) {
    if (error instanceof SandboxError && error.code === 'truncated') throw replayEvicted(view.oldest);
    throw error;
  }
}
