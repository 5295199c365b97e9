import { describe, expect, test } from '@jest/globals';
import type { Counter } from './counters.js';
import type { Evidence } from './evidence.js';
import { FaultLog } from './fault-log.js';
import { Ledger } from './ledger.js';
import { bytesAt } from './lines.js';
import { storyOf, type Story, type StoryKind } from './story.js';
import { StreamCheck } from './stream-check.js';

const SOURCE = { seed: 1, daemons: 2, longestSeconds: 3 };

function storyLike(kind: StoryKind): Story {
  for (let index = 0; ; index++) {
    const story = storyOf(SOURCE, index);
    if (story.kind === kind) return story;
  }
}

const stream = storyLike('stream');
const OTHER_DAEMON = 1 - stream.daemon;

/** A ledger with a clock that stands at `at` for whatever is done to the daemons. */
class Case {
  now = 1_000_000;
  readonly faults = new FaultLog(() => this.now);
  readonly ledger = new Ledger(SOURCE, this.faults);

  constructor() {
    for (const daemon of [0, 1]) this.faults.presence(daemon, true, 0);
  }

  at(now: number): this {
    this.now = now;
    return this;
  }

  fault(daemon: number | undefined, from: number, to: number): this {
    const over = this.at(from).faults.begin('cut', daemon);
    this.at(to);
    over();
    return this;
  }

  end(how: 'killed' | 'stopped', from: number, to: number): this {
    const over = this.at(from).faults.ending(stream.daemon, how);
    this.at(to);
    over();
    return this;
  }

  /** The counters that are not 0 once `evidence` is judged. */
  async judge(evidence: readonly Evidence[], runs = 1): Promise<Partial<Record<Counter, number>>> {
    for (const piece of evidence) this.ledger.take(piece);
    await this.ledger.judge(async () => runs);
    return Object.fromEntries(Object.entries(this.ledger.tally.value).filter(([, count]) => count > 0));
  }
}

type Refused = Extract<Evidence, { type: 'refused' }>;

function refused(changes: Partial<Refused>): Refused {
  return {
    type: 'refused',
    story: stream.index,
    operation: 'attach',
    from: 1_010_000,
    to: 1_010_500,
    openedAt: 1_005_000,
    code: 'unavailable',
    detail: 'runner_disconnected',
    effect: 'none',
    ...changes,
  };
}

function ended(exit: { exitCode: number; signal?: NodeJS.Signals }): Evidence {
  return { type: 'ended', story: stream.index, at: 1_010_500, openedAt: 1_005_000, exit };
}

describe('the check of bytes', () => {
  const content = { seed: 7, story: 3 };
  const frame = (offset: number, length: number, type: 'stdout' | 'stderr' = 'stdout') => ({
    type,
    offset,
    data: bytesAt(content, type, offset, length),
  });

  test('finds nothing in what was printed, in pieces that begin and end in the middle of lines', () => {
    const check = new StreamCheck(content, { stdout: 13, stderr: 0 });
    check.take(frame(13, 100));
    check.take(frame(113, 87));
    check.take(frame(0, 41, 'stderr'));
    check.end({ stdout: 200, stderr: 41 });
    expect(check.faults).toEqual({ lost: 0, twice: 0, wrong: 0 });
  });

  test('counts a flipped byte', () => {
    const check = new StreamCheck(content);
    const flipped = frame(0, 90);
    flipped.data[77]! ^= 1;
    check.take(flipped);
    expect(check.faults).toEqual({ lost: 0, twice: 0, wrong: 1 });
  });

  test('counts a gap, a repeat and a missing tail', () => {
    const check = new StreamCheck(content);
    check.take(frame(0, 100));
    check.take(frame(110, 50));
    check.take(frame(140, 40));
    check.end({ stdout: 1_000, stderr: 5 });
    expect(check.faults).toEqual({ lost: 10 + 820 + 5, twice: 20, wrong: 0 });
  });

  test('counts what came beyond the end', () => {
    const check = new StreamCheck(content);
    check.take(frame(0, 100));
    check.end({ stdout: 80, stderr: 0 });
    expect(check.faults).toEqual({ lost: 0, twice: 0, wrong: 20 });
  });

  test('counts bytes of another place that claim to be of this one', () => {
    const check = new StreamCheck(content);
    check.take({ ...frame(0, 40), data: bytesAt(content, 'stdout', 40, 40) });
    expect(check.faults.wrong).toBeGreaterThan(0);
  });
});

describe('the ledger', () => {
  test('counts nothing where everything is true', async () => {
    expect(await new Case().judge([ended({ exitCode: stream.printing.exitCode })])).toEqual({});
  });

  test('adds up what readers were given wrongly', async () => {
    const bytes: Evidence = { type: 'bytes', story: 0, read: 9, faults: { lost: 3, twice: 2, wrong: 1 } };
    expect(await new Case().judge([bytes, bytes])).toEqual({ bytesLost: 6, bytesTwice: 4, bytesWrong: 2 });
  });

  test('counts an invented exit, also where the daemon was killed', async () => {
    const exitCode = stream.printing.exitCode + 1;
    expect(await new Case().judge([ended({ exitCode })])).toEqual({ inventedOutcomes: 1 });
    const killed = new Case().end('killed', 1_008_000, 1_008_500);
    expect(await killed.judge([ended({ exitCode })])).toEqual({ inventedOutcomes: 1 });
  });

  test('takes a death by SIGTERM from a daemon that was stopped, and from no other', async () => {
    const exit = ended({ exitCode: 143, signal: 'SIGTERM' });
    expect(await new Case().judge([exit])).toEqual({ inventedOutcomes: 1 });
    expect(await new Case().end('killed', 1_008_000, 1_008_500).judge([exit])).toEqual({ inventedOutcomes: 1 });
    expect(await new Case().end('stopped', 1_008_000, 1_008_500).judge([exit])).toEqual({});
  });

  test('takes a lost link only from a daemon to whose link something was done', async () => {
    expect(await new Case().judge([refused({})])).toEqual({ inventedOutcomes: 1 });
    expect(await new Case().fault(OTHER_DAEMON, 1_009_900, 1_010_000).judge([refused({})])).toEqual({
      inventedOutcomes: 1,
    });
    expect(await new Case().fault(stream.daemon, 1_009_900, 1_010_000).judge([refused({})])).toEqual({});
    expect(await new Case().fault(undefined, 1_009_900, 1_010_000).judge([refused({})])).toEqual({});
  });

  test('takes no lost link long after the runner is back', async () => {
    const late = refused({ from: 1_040_000, to: 1_040_500 });
    expect(await new Case().fault(stream.daemon, 1_009_900, 1_010_000).judge([late])).toEqual({ inventedOutcomes: 1 });
  });

  test('takes no effect but none from a runner that is offline', async () => {
    const offline = refused({ operation: 'exec', detail: 'runner_offline', effect: 'unknown' });
    const fault = new Case().fault(stream.daemon, 1_009_900, 1_010_000);
    expect(await fault.judge([offline])).toEqual({ inventedOutcomes: 1 });
  });

  test('takes session_lost after a kill; not_found after a stop or a second kill, and else from nobody', async () => {
    const lost = refused({ detail: 'session_lost' });
    const { detail: _, ...missing } = refused({ code: 'not_found' });
    expect(await new Case().judge([lost, missing])).toEqual({ inventedOutcomes: 2 });
    const killed = (): Case => new Case().end('killed', 1_006_000, 1_006_500);
    expect(await killed().judge([lost])).toEqual({});
    expect(await killed().judge([missing])).toEqual({ inventedOutcomes: 1 });
    expect(await killed().end('killed', 1_008_000, 1_008_500).judge([missing])).toEqual({});
    expect(await new Case().end('stopped', 1_006_000, 1_006_500).judge([missing])).toEqual({});
  });

  test.each([
    ['unavailable', 'closed_before_exit'],
    ['provider', 'stream_gap'],
    ['truncated', 'replay_evicted'],
    ['unavailable', 'timeout'],
  ] as const)('takes no %s/%s, whatever was done', async (code, detail) => {
    const fault = new Case().end('killed', 1_008_000, 1_008_500).fault(stream.daemon, 1_008_000, 1_010_000);
    expect(await fault.judge([refused({ code, detail })])).toEqual({ inventedOutcomes: 1 });
  });

  test.each([
    ['no', 0, {}],
    ['no', 1, { falseEffects: 1 }],
    ['once', 0, { falseEffects: 1 }],
    ['once', 1, {}],
    ['once', 2, { falseEffects: 1 }],
    ['perhaps', 0, {}],
    ['perhaps', 1, {}],
    ['perhaps', 2, { falseEffects: 1 }],
  ] as const)('of a command that should run "%s", %d runs count %o', async (ran, runs, counted) => {
    const mark: Evidence = { type: 'mark', story: stream.index, at: 1_005_000, mark: 'm', ran };
    expect(await new Case().judge([mark], runs)).toEqual(counted);
  });

  test('counts what hung, what was said falsely and what nobody caught', async () => {
    expect(
      await new Case().judge([
        { type: 'hung', story: 0, what: 'exec' },
        { type: 'lie', story: 0, what: 'exec answered other output' },
        { type: 'failure', what: 'an error' },
      ]),
    ).toEqual({ hungPromises: 1, inventedOutcomes: 1, failures: 1 });
  });
});
