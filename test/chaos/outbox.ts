import type { Evidence, StoryRecord } from './evidence.js';
import type { FromPlatform } from './messages.js';

const FLUSH_MS = 50;

/** What this process tells whoever started it: evidence in its order, and of each story only where it last was. */
export class Outbox {
  private evidenceWaiting: Evidence[] = [];
  private readonly records = new Map<number, StoryRecord>();
  private timer: NodeJS.Timeout | undefined;

  evidence(evidence: Evidence): void {
    this.evidenceWaiting.push(evidence);
    this.wake();
  }

  record(record: StoryRecord): void {
    this.records.set(record.index, record);
    this.wake();
  }

  /** Behind everything that was reported. */
  send(message: FromPlatform): void {
    this.report();
    process.send?.(message);
  }

  /** Resolves when everything was handed over. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await new Promise((resolve) => {
      process.send?.({ type: 'report', ...this.waiting() } satisfies FromPlatform, () => resolve(undefined));
    });
  }

  private wake(): void {
    this.timer ??= setTimeout(() => this.report(), FLUSH_MS);
  }

  private report(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.evidenceWaiting.length + this.records.size === 0) return;
    process.send?.({ type: 'report', ...this.waiting() } satisfies FromPlatform);
  }

  private waiting(): { evidence: Evidence[]; stories: StoryRecord[] } {
    const waiting = { evidence: this.evidenceWaiting, stories: [...this.records.values()] };
    this.evidenceWaiting = [];
    this.records.clear();
    return waiting;
  }
}
