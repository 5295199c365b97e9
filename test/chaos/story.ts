import type { StreamOffsets } from 'nestjs-sandbox';
import type { Content } from './lines.js';
import { Prng } from './prng.js';
import { printed, type Printing } from './programs.js';

/**
 * What a caller does with one session:
 * - `stream`: a detachable command that prints for some seconds, read to its end over as many attaches as it takes
 * - `flood`: the same, printing as fast as it can to a reader that is slow
 * - `twin`: the same with a second reader that attached elsewhere
 * - `exec`: short commands with a known result, one after the other
 * - `limit`: an exec that runs into its deadline or its output limit, or is aborted
 * - `echo`: a command that prints what is written to it
 * - `suspend`, `destroy`: a stream in a sandbox of its own, which is suspended or destroyed under it
 */
export type StoryKind = 'stream' | 'flood' | 'twin' | 'exec' | 'limit' | 'echo' | 'suspend' | 'destroy';

export type ReadBy = 'forEach' | 'iterator' | 'observable';

/** One session, known before it begins: it follows from seed and index alone. */
export interface Story {
  readonly index: number;
  readonly kind: StoryKind;
  readonly daemon: number;
  /** The last part of the sandbox's name. Stories share one, unless they end it. */
  readonly sandbox: string;
  readonly content: Content;
  readonly printing: Printing;
  readonly readBy: ReadBy;
  /** The reader waits so long with each frame. */
  readonly slowMs: number;
  /** In sum, in milliseconds. */
  readonly longestSlowMs: number;
  /** The caller lets go after so many bytes, and attaches again. */
  readonly detachAfter: number | undefined;
  /** Attach again at a random place before the last byte that was read, not behind it. */
  readonly rereads: boolean;
  /** When the sandbox is suspended or destroyed, of the time that the command prints. */
  readonly stopAt: number;
}

export interface StorySource {
  readonly seed: number;
  readonly daemons: number;
  /** No command prints longer. */
  readonly longestSeconds: number;
}

const KINDS: Record<StoryKind, number> = {
  stream: 50,
  flood: 4,
  twin: 8,
  exec: 14,
  limit: 8,
  echo: 12,
  suspend: 4,
  destroy: 4,
};

/** Fewer than a sandbox keeps ended sessions, so that none is dropped before its caller is back. */
const STORIES_PER_SANDBOX = 40;

export function storyOf({ seed, daemons, longestSeconds }: StorySource, index: number): Story {
  const random = new Prng(seed, 'story', index);
  const kind = random.pick(KINDS);
  const daemon = index % daemons;
  const printing = kind === 'flood' ? flooding(random) : pacing(random, longestSeconds);
  const { stdout } = printed(printing);
  const shared = Math.floor(index / (daemons * STORIES_PER_SANDBOX));
  const own = kind === 'suspend' || kind === 'destroy';
  return {
    index,
    kind,
    daemon,
    sandbox: own ? hex(0x80000000 + index) : hex(shared),
    content: { seed, story: index },
    printing,
    readBy: random.pick({ forEach: 2, iterator: 1, observable: 1 }),
    slowMs: kind === 'flood' ? random.int(5, 60) : random.chance(0.2) ? random.int(1, 30) : 0,
    longestSlowMs: longestSeconds * 1_000,
    detachAfter: random.chance(0.25) ? random.int(1, stdout) : undefined,
    rereads: random.chance(0.5),
    stopAt: random.between(0.1, 0.9),
  };
}

/** The exit code is never one that a shell or a signal makes. */
function pacing(random: Prng, longestSeconds: number): Printing {
  const pauseSeconds = Number(random.between(0.2, 0.8).toFixed(2));
  const most = Math.max(2, Math.floor(longestSeconds / pauseSeconds));
  return {
    steps: random.int(2, most),
    linesPerStep: random.int(20, 600),
    linesPerStderr: random.int(3, 50),
    pauseSeconds,
    exitCode: random.int(0, 99),
  };
}

function flooding(random: Prng): Printing {
  return {
    steps: random.int(2, 8),
    linesPerStep: random.int(5_000, 40_000),
    linesPerStderr: random.int(3, 50),
    pauseSeconds: 0,
    exitCode: random.int(0, 99),
  };
}

/** Where an attach begins that reads something again. */
export function before(random: Prng, next: StreamOffsets): StreamOffsets {
  return { stdout: random.int(0, next.stdout), stderr: random.int(0, next.stderr) };
}

/** The name of a story's sandbox on the runner with that id. */
export function sandboxName(runnerId: string, story: Pick<Story, 'sandbox'>): string {
  return `runner-${runnerId.replaceAll('-', '')}-${story.sandbox}`;
}

function hex(value: number): string {
  return value.toString(16).padStart(8, '0');
}
