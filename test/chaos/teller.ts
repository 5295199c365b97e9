import { type SandboxHandle, type SandboxService } from 'nestjs-sandbox';
import type { Caller } from './caller.js';
import type { Evidence, StoryRecord } from './evidence.js';
import type { Prng } from './prng.js';
import type { Story } from './story.js';

/** What the telling of one story has at hand. */
export interface Telling {
  readonly story: Story;
  readonly sandboxes: SandboxService;
  readonly handle: SandboxHandle;
  readonly caller: Caller;
  /** Draws what has to follow from the story, but not the same in each platform. */
  readonly random: Prng;
  /** One for all calls of the process: whoever listens to it must let go of it. */
  readonly signal: AbortSignal;
  readonly report: (evidence: Evidence) => void;
  /** Where the story is. */
  readonly record: (session: NonNullable<StoryRecord['session']>) => void;
}
