import type { SandboxHandle, SandboxService } from 'nestjs-sandbox';
import { SandboxError } from 'nestjs-sandbox';
import { Caller, StoryOver } from './caller.js';
import { tellEcho } from './echo-story.js';
import type { StoryRecord } from './evidence.js';
import { tellExecs, tellLimit } from './exec-story.js';
import type { PlatformSetup, Runner } from './messages.js';
import type { Outbox } from './outbox.js';
import { tellParking } from './parking-story.js';
import { Prng } from './prng.js';
import { sandboxName, storyOf } from './story.js';
import { tellStream } from './stream-story.js';
import type { Telling } from './teller.js';

/** So many callers at once, each with one story after the other. */
export class Callers {
  private next: number;
  private readonly open: StoryRecord[];
  private finishing = false;
  private lanes: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly setup: PlatformSetup,
    private readonly sandboxes: SandboxService,
    private readonly outbox: Outbox,
    private readonly signal: AbortSignal,
  ) {
    this.next = setup.nextStory;
    this.open = [...setup.open];
  }

  start(): void {
    this.lanes = Promise.all(Array.from({ length: this.setup.sessions }, () => this.lane()));
  }

  /** Begins no more stories; resolves when those under way have ended. */
  async finish(): Promise<void> {
    this.finishing = true;
    await this.lanes;
  }

  /** Destroys every sandbox. Resolves with what is left of them. */
  async clear(): Promise<readonly string[]> {
    const caller = this.callerOf(-1);
    const list = (): Promise<readonly string[]> =>
      caller.again('listAllNames', () => this.sandboxes.listAllNames('runner', { signal: this.signal }));
    for (const name of await list()) {
      const handle = this.sandboxes.buildHandle('runner', name);
      await caller.again('destroy', () => this.sandboxes.destroy(handle, { signal: this.signal }));
    }
    return list();
  }

  private async lane(): Promise<void> {
    for (;;) {
      const record = this.open.pop() ?? (this.finishing ? undefined : { index: this.next++, over: false });
      if (!record) return;
      this.outbox.record(record);
      await this.tell(record);
      this.outbox.record({ index: record.index, over: true });
    }
  }

  /** Never rejects: what a story comes to is evidence. */
  private async tell({ index, session }: StoryRecord): Promise<void> {
    const story = storyOf(this.setup, index);
    const caller = this.callerOf(index);
    const name = sandboxName((this.setup.runners[story.daemon] as Runner).id, story);
    const { sandboxes, signal, outbox } = this;
    try {
      const handle: SandboxHandle = session
        ? sandboxes.buildHandle('runner', name)
        : await caller.again('create', () => sandboxes.create('runner', name, { signal }));
      const telling: Telling = {
        story,
        sandboxes,
        handle,
        caller,
        random: new Prng(this.setup.seed, 'telling', index, this.setup.incarnation),
        signal,
        report: (evidence) => outbox.evidence(evidence),
        record: (where) => outbox.record({ index, over: false, session: where }),
      };
      if (story.kind === 'exec') await tellExecs(telling);
      else if (story.kind === 'limit') await tellLimit(telling);
      else if (story.kind === 'echo') await tellEcho(telling);
      else if (story.kind === 'suspend' || story.kind === 'destroy') await tellParking(telling);
      else await tellStream(telling, session);
    } catch (error) {
      if (error instanceof SandboxError || error instanceof StoryOver) return;
      outbox.evidence({ type: 'failure', what: `story ${index}: ${String((error as Error)?.stack ?? error)}` });
    }
  }

  private callerOf(index: number): Caller {
    const { marks, incarnation } = this.setup;
    return new Caller(index, { prefix: `${marks}/${incarnation}` }, (evidence) => this.outbox.evidence(evidence));
  }
}
