import type { Lane } from './lanes.js';
import { malformedReply } from './link-errors.js';
import type { Call, PendingRequests } from './pending-requests.js';
import type { RequestBody, ResultOf } from './table.js';

/** What the daemon does with a session's output: sends it, blocks at the journal's cap, or keeps what it can. */
export type Reach = 'attached' | 'held' | 'detached';

export interface AttachmentOptions {
  readonly sessionId: string;
  readonly lane: Lane;
  readonly requests: PendingRequests;
  /** Whether the daemon attaches from an offset. */
  readonly native: boolean;
  /** What those who are here want; asked again right before the daemon is told. */
  readonly wanted: () => Reach;
  /** Nothing more comes until the next attach. */
  readonly onDetached: () => void;
  /** The daemon has attached the session for a caller that is gone. */
  readonly onLate: (name: string) => void;
}

/** The daemon's one bit per session, and how it is kept in step with whether anybody listens. */
export class Attachment {
  /** What the daemon was told, or did by itself, last. */
  told: Reach = 'detached';
  private telling = Promise.resolve();

  constructor(
    /** The sandbox that the session belongs to. */
    private name: string,
    private readonly options: AttachmentOptions,
  ) {}

  /** An attach, to be made in a turn of the lane. Whatever `accept` makes of the reply, the bit is set. */
  attach<T>(
    body: RequestBody<'attach'>,
    timeoutMs: number | null | undefined,
    accept: (result: ResultOf<'attach'>, tag: number) => T,
  ): Call<T> {
    const { requests, native, sessionId, onLate } = this.options;
    const { name, stdin } = body;
    const plain = { name, sessionId, ...(stdin !== undefined && { stdin }) };
    return requests.call('attach', native ? body : plain, {
      ...(timeoutMs !== undefined && { timeoutMs }),
      accept: (result, tag) => {
        if (result.sessionId !== sessionId) throw malformedReply('attach', 'result.session_id: not the one asked for');
        this.told = 'attached';
        this.name = name;
        try {
          return accept(result, tag);
        } finally {
          void this.sync();
        }
      },
      late: (result) => {
        if (result.sessionId === sessionId) onLate(name);
      },
    });
  }

  /** As an attach from `from` that nobody waits for but those who are here already. */
  resume<T>(from: RequestBody<'attach'>['from'], accept: (result: ResultOf<'attach'>, tag: number) => T): Call<T> {
    return this.attach({ name: this.name, sessionId: this.options.sessionId, from }, undefined, accept);
  }

  /** Tells the daemon if less is wanted; resolves when it knows or cannot be told. */
  async sync(): Promise<void> {
    if (this.toTell() !== undefined) this.telling = this.options.lane.add(() => this.detach()).result;
    await this.telling;
  }

  /** More is never told by itself: an attach says from where. */
  private toTell(): 'held' | 'detached' | undefined {
    const wanted = this.options.wanted();
    return wanted === this.told || wanted === 'attached' ? undefined : wanted;
  }

  private async detach(): Promise<void> {
    const { requests, sessionId, onDetached } = this.options;
    const reach = this.toTell();
    if (reach === undefined) return;
    this.told = reach;
    if (reach === 'detached') onDetached();
    const body = { name: this.name, sessionId, ...(reach === 'held' && { hold: true }) };
    await requests.call('detach', body, { accept: () => {} }).result.catch(() => {});
  }
}
