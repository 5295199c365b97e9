import type { Exit, SandboxEffect, SandboxErrorCode, SandboxErrorDetail, StreamOffsets } from 'nestjs-sandbox';
import type { ByteFaults } from './stream-check.js';

/** How often a command may have run, by what its caller was told. */
export type Ran = 'no' | 'once' | 'perhaps';

/** What callers saw, for the ledger. Times are `Date.now()`, which every process of a run shares. */
export type Evidence =
  /** A call, or the output of a command, was rejected. */
  | {
      readonly type: 'refused';
      readonly story: number;
      readonly operation: string;
      /** Of the call. */
      readonly from: number;
      readonly to: number;
      /** When the session was asked for; absent before. */
      readonly openedAt?: number;
      readonly code: SandboxErrorCode;
      readonly detail?: SandboxErrorDetail;
      readonly effect: SandboxEffect;
    }
  /** What one reader got, and what of it was not what was printed. */
  | { readonly type: 'bytes'; readonly story: number; readonly read: number; readonly faults: ByteFaults }
  /** A session ended with an exit. */
  | {
      readonly type: 'ended';
      readonly story: number;
      readonly at: number;
      readonly openedAt: number;
      readonly exit: Exit;
    }
  /** The sandbox is about to be suspended or destroyed. */
  | { readonly type: 'stopping'; readonly story: number; readonly at: number }
  /** A command that was asked for, by the file that it leaves. */
  | { readonly type: 'mark'; readonly story: number; readonly at: number; readonly mark: string; readonly ran: Ran }
  /** Something was said that is not so. */
  | { readonly type: 'lie'; readonly story: number; readonly what: string }
  | { readonly type: 'hung'; readonly story: number; readonly what: string }
  /** Neither a result nor a SandboxError: a defect. */
  | { readonly type: 'failure'; readonly what: string };

/** Where a story is, for the platform that goes on with it after this one was killed. */
export interface StoryRecord {
  readonly index: number;
  readonly over: boolean;
  /** Present once it has a session that outlives its caller. */
  readonly session?: { readonly id: string; readonly openedAt: number; readonly next: StreamOffsets };
}
