import type { RunnerConnectionStats } from '#libs/protocol';
import type { RunnerGatewayStats } from 'nestjs-sandbox/runner';
import type { Evidence, StoryRecord } from './evidence.js';
import type { StorySource } from './story.js';

export interface Runner {
  readonly id: string;
  readonly token: string;
}

/** What a platform process is started with. */
export interface PlatformSetup extends StorySource {
  /** How many platforms there were before. */
  readonly incarnation: number;
  readonly sessions: number;
  readonly runners: readonly Runner[];
  /** Where commands leave their marks. */
  readonly marks: string;
  /** Stories that an earlier platform left, and the first that none has begun. */
  readonly open: readonly StoryRecord[];
  readonly nextStory: number;
}

export type ToPlatform =
  | { readonly type: 'begin'; readonly setup: PlatformSetup }
  /** No new stories; `finished` comes once those under way have ended. */
  | { readonly type: 'finish' }
  /** Destroy every sandbox; `cleared` comes with the names that are left. */
  | { readonly type: 'clear' }
  | { readonly type: 'count' }
  /** Close the application; `closed` comes with what is left of it, then the process ends. */
  | { readonly type: 'close' };

export type FromPlatform =
  | { readonly type: 'listening'; readonly port: number }
  | { readonly type: 'presence'; readonly daemon: number; readonly online: boolean; readonly at: number }
  | { readonly type: 'report'; readonly evidence: readonly Evidence[]; readonly stories: readonly StoryRecord[] }
  | { readonly type: 'finished' }
  | { readonly type: 'cleared'; readonly left: readonly string[] }
  | {
      readonly type: 'counted';
      readonly stats: RunnerGatewayStats;
      readonly connections: readonly RunnerConnectionStats[];
      readonly listeners: number;
    }
  | { readonly type: 'closed'; readonly resources: readonly string[]; readonly warnings: readonly string[] };

/** What a daemon answers to any message: its keeper, and what keeps its process alive. */
export interface DaemonCounts {
  readonly running: number;
  readonly sessions: number;
  readonly resources: readonly string[];
}
