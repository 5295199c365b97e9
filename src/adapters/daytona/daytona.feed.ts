import type { CommandStream } from '#libs/contract';
import { JournalFeed } from '../common/journal-feed.js';
import type { InSandbox } from './daytona.context.js';
import { runErrandWithin } from './daytona.execute.js';
import { HOLD_SECONDS, PollingReader, type Poll } from './daytona.polling-reader.js';
import { pollProgram } from './daytona.programs.js';
import { openPush, type OpenPush } from './daytona.push.js';

/** Beyond the hold, for the answer to one look. */
const ANSWER_MS = 7_000;
const READER_MS = 60_000;

export interface FeedInit {
  readonly nonce: string;
  /** Of the shim, once it is known. */
  readonly pid: () => string;
  readonly stream: CommandStream;
  /** Whether output may be pushed. */
  readonly push: boolean;
}

/** Of a session that runs, or did. Nobody starts a sandbox only to read. */
export function feedOf(context: InSandbox, { nonce, pid, stream, push }: FeedInit): JournalFeed {
  const { toolboxes, handle } = context;
  const open: OpenPush = (from, sink, signal) => openPush(context, { nonce, pid: pid() }, from, sink, signal);
  const poll: Poll = (from, signal) =>
    runErrandWithin(
      toolboxes,
      handle,
      { purpose: 'read', program: pollProgram(nonce, pid(), from), seconds: HOLD_SECONDS, again: true, wake: false },
      HOLD_SECONDS * 1000 + ANSWER_MS,
      signal,
    );
  return new JournalFeed({
    nonce,
    stream,
    openReader: async (_program, sink, _deadline, from) =>
      new PollingReader(pid(), poll, push ? open : undefined, sink, from),
    timeoutMs: READER_MS,
    survives: true,
    onEnd: () => {},
  });
}
