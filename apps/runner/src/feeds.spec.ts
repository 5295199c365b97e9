import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { SandboxError, StreamOffsets } from '#libs/contract/core';
import { LocalKeeper, type JournalView, type SessionTail } from '#libs/process';
import { refusalOf, type EventBody, type EventName } from '#libs/protocol';
import { Feeds } from './feeds.js';
import { LINK_LIMITS } from './limits.js';
import { Tails } from './tails.js';
import type { Outlet } from './turns.js';

const KiB = 1024;
const SANDBOX = 'runner-0123456789abcdef0123456789abcdef-01234567';

interface Sent {
  readonly event: EventName;
  readonly replayFor: number | undefined;
  readonly offset: number | undefined;
  readonly text: string;
  readonly body: EventBody<EventName>;
}

/** A socket that takes what it is given while the test lets it. */
class FakeOutlet implements Outlet {
  readonly sent: Sent[] = [];
  readonly signal: AbortSignal;
  private readonly abort = new AbortController();
  private readonly waiting: (() => void)[] = [];
  private readonly watching = new Set<() => void>();
  private open = true;

  constructor() {
    this.signal = this.abort.signal;
  }

  event<Name extends EventName>(event: Name, body: EventBody<Name>): void {
    const { replayFor, offset, data } = body as Partial<EventBody<'stdout'>>;
    const text = data ? Buffer.from(data).toString('latin1') : '';
    this.sent.push({ event, replayFor, offset, text, body: body as EventBody<EventName> });
    for (const watch of this.watching) watch();
  }

  writable(): boolean {
    return this.open;
  }

  whenWritable(fn: () => void): void {
    this.waiting.push(fn);
  }

  stall(): void {
    this.open = false;
  }

  flow(): void {
    this.open = true;
    for (const fn of this.waiting.splice(0)) fn();
  }

  lose(): void {
    this.abort.abort();
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        const watch = (): void => {
          this.watching.delete(watch);
          resolve();
        };
        this.watching.add(watch);
      });
    }
  }

  text(replayFor?: number, stream: EventName = 'stdout'): string {
    return this.of(replayFor)
      .filter(({ event }) => event === stream)
      .map(({ text }) => text)
      .join('');
  }

  of(replayFor?: number): Sent[] {
    return this.sent.filter((sent) => sent.replayFor === replayFor);
  }

  async ended(replayFor?: number): Promise<EventBody<EventName>> {
    const isEnd = ({ event }: Sent): boolean => event === 'exit' || event === 'error';
    await this.until(() => this.of(replayFor).some(isEnd));
    return (this.of(replayFor).find(isEnd) as Sent).body;
  }
}

let root: string;
let keeper: LocalKeeper;
let tails: Tails;
let outlet: FakeOutlet;
let feeds: Feeds;
const reaches: [string, StreamOffsets | 'detached' | 'hold'][] = [];
/** What stands between feeds and keeper, for a test that bends it. */
let journal: (view: JournalView) => JournalView;
let beforeJournal: () => Promise<void>;
let passReach: boolean;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'runner-feeds-'));
  keeper = await LocalKeeper.open({ root, limits: { segmentBytes: 64 * KiB, journalBytes: 512 * KiB } });
  await keeper.create(SANDBOX);
  tails = new Tails(keeper);
  outlet = new FakeOutlet();
  reaches.length = 0;
  journal = (view) => view;
  beforeJournal = async () => {};
  passReach = true;
  feeds = makeFeeds();
});

afterEach(async () => {
  outlet.lose();
  tails.close();
  await keeper.close();
  rmSync(root, { recursive: true });
});

function makeFeeds(): Feeds {
  return new Feeds({
    keeper: {
      journal: async (sandbox, id) => {
        await beforeJournal();
        return journal(await keeper.journal(sandbox, id));
      },
      reach: (sandbox, id, reach) => {
        reaches.push([id, reach]);
        if (passReach) keeper.reach(sandbox, id, reach);
      },
    },
    tails,
    outlet,
    limits: { ...LINK_LIMITS, rereadBytes: 128 * KiB },
  });
}

async function start(script: string): Promise<string> {
  const { id } = await keeper.start({
    sandbox: SANDBOX,
    cmd: 'sh',
    args: ['-c', script],
    env: [],
    stdin: true,
    detachable: true,
  });
  return id;
}

async function spawn(script: string): Promise<string> {
  const id = await start(script);
  (await feeds.open(SANDBOX, id)).start();
  return id;
}

async function attach(
  id: string,
  request: number,
  from: StreamOffsets | 'now' = { stdout: 0, stderr: 0 },
): Promise<StreamOffsets> {
  const attachment = await feeds.attach(SANDBOX, id, request, from);
  attachment.start();
  return attachment.from;
}

async function type(id: string, text: string): Promise<void> {
  await keeper.write(SANDBOX, id, 'next', Buffer.from(text));
}

async function tail(id: string, reached: (tail: SessionTail) => boolean): Promise<void> {
  while (!reached(await keeper.journal(SANDBOX, id))) await new Promise(setImmediate);
}

const turns = async (): Promise<void> => {
  for (let n = 0; n < 20; n++) await new Promise(setImmediate);
};

describe('Feeds', () => {
  test('a socket that takes nothing gets nothing; then everything, in order', async () => {
    outlet.stall();
    const id = await spawn('seq 1 20000');
    await tail(id, ({ ended }) => ended !== undefined);
    await turns();
    expect(outlet.sent).toEqual([]);
    outlet.flow();
    expect(await outlet.ended()).toEqual({ sessionId: id, code: 0 });
    expect(outlet.text()).toBe(Array.from({ length: 20_000 }, (_, n) => `${n + 1}\n`).join(''));
  });

  test('an attach while live output waits: the replay ends where live output goes on, nothing twice', async () => {
    const id = await spawn('echo one; read a; echo two; read b; echo three');
    await outlet.until(() => outlet.text() === 'one\n');
    outlet.stall();
    await type(id, '\n');
    await tail(id, ({ offsets }) => offsets.stdout === 8);
    await turns();
    await attach(id, 7);
    await attach(id, 8, { stdout: 2, stderr: 0 });
    outlet.flow();
    await type(id, '\n');
    await outlet.ended();
    expect([outlet.text(7), outlet.text(8), outlet.text()]).toEqual(['one\n', 'e\n', 'one\ntwo\nthree\n']);
    const order = outlet.sent.map(({ event, replayFor = 'live' }) => `${event} ${replayFor}`);
    expect(order.slice(0, 4)).toEqual(['stdout live', 'stdout 7', 'stdout 8', 'stdout live']);
    expect(order.at(-1)).toBe('exit live');
  });

  test('an attach that began before the end and is answered behind it gets everything and the end', async () => {
    const id = await spawn('echo one; read a; exit 3');
    await outlet.until(() => outlet.text() === 'one\n');
    const first = await feeds.attach(SANDBOX, id, 7, { stdout: 0, stderr: 0 });
    const second = await feeds.attach(SANDBOX, id, 8, { stdout: 1, stderr: 0 });
    await type(id, '\n');
    await outlet.ended();
    await turns();
    expect(feeds.size).toBe(1);
    first.start();
    expect(await outlet.ended(7)).toEqual({ sessionId: id, code: 3, replayFor: 7 });
    await turns();
    second.start();
    expect(await outlet.ended(8)).toEqual({ sessionId: id, code: 3, replayFor: 8 });
    expect([outlet.text(), outlet.text(7), outlet.text(8)]).toEqual(['one\n', 'one\n', 'ne\n']);
    expect(outlet.of().filter(({ event }) => event === 'exit')).toHaveLength(1);
    await turns();
    expect(feeds.size).toBe(0);
  });

  test('an attach that fails behind the end of its session leaves no feed', async () => {
    const id = await spawn('read a; exit 3');
    let release!: () => void;
    const released = new Promise<void>((resolve) => (release = resolve));
    beforeJournal = () => released;
    const attempt = feeds.attach(SANDBOX, id, 7, { stdout: 99, stderr: 0 });
    await type(id, '\n');
    await outlet.ended();
    await turns();
    release();
    await expect(attempt).rejects.toMatchObject({ detail: 'offset_beyond_end' });
    expect(feeds.size).toBe(0);
  });

  test('an attach that is answered while live output is being read: what was read waits for the replay', async () => {
    const id = await spawn('echo one; read a; echo two; read b');
    await outlet.until(() => outlet.text() === 'one\n');
    const attachment = await feeds.attach(SANDBOX, id, 7, { stdout: 0, stderr: 0 });
    const unfollow = tails.follow(SANDBOX, id, () => {
      unfollow();
      void (async () => {
        // Microtasks come before the file is read, which takes a turn of the event loop.
        for (let n = 0; n < 100; n++) await Promise.resolve();
        attachment.start();
      })();
    });
    await type(id, '\n');
    await outlet.until(() => outlet.text() === 'one\ntwo\n');
    expect(outlet.sent.map(({ replayFor, offset, text }) => [replayFor, offset, text])).toEqual([
      [undefined, 0, 'one\n'],
      [7, 0, 'one\n'],
      [undefined, 4, 'two\n'],
    ]);
  });

  test('the end of a session comes once: tagged to each that attached after it, never live', async () => {
    const id = await start('printf x; exit 3');
    await tail(id, ({ ended }) => ended !== undefined);
    await Promise.all([attach(id, 1), attach(id, 2)]);
    expect([await outlet.ended(1), await outlet.ended(2)]).toEqual([
      { sessionId: id, code: 3, replayFor: 1 },
      { sessionId: id, code: 3, replayFor: 2 },
    ]);
    await turns();
    expect([outlet.of(), feeds.size, tails.size]).toEqual([[], 0, 0]);
  });

  test('now is the end of what there is, and live output follows', async () => {
    const id = await start('echo past; read a; echo next');
    await tail(id, ({ offsets }) => offsets.stdout === 5);
    expect(await attach(id, 5, 'now')).toEqual({ stdout: 5, stderr: 0 });
    await type(id, '\n');
    await outlet.ended();
    expect(outlet.sent.map(({ event, offset, text }) => [event, offset, text])).toEqual([
      ['stdout', 5, 'next\n'],
      ['exit', undefined, ''],
    ]);
  });

  test('an attached reader lets the process go on beyond the cap of its journal, whatever stderr said at first', async () => {
    const id = await spawn('printf early >&2; head -c 3000000 /dev/zero; exit 2');
    expect(await outlet.ended()).toEqual({ sessionId: id, code: 2 });
    expect([outlet.text().length, outlet.text(undefined, 'stderr')]).toEqual([3_000_000, 'early']);
  });

  test('an attach at the end of a full journal does not block the process', async () => {
    const id = await start('printf early >&2; head -c 2000000 /dev/zero; read a; head -c 2000000 /dev/zero; exit 5');
    keeper.reach(SANDBOX, id, 'detached');
    await tail(id, ({ offsets }) => offsets.stdout === 2_000_000);
    await attach(id, 3, 'now');
    await type(id, '\n');
    expect(await outlet.ended()).toEqual({ sessionId: id, code: 5 });
    expect(outlet.text().length).toBe(2_000_000);
  });

  test('what is no longer kept is refused, with what is', async () => {
    const id = await start('head -c 2000000 /dev/zero; read a');
    keeper.reach(SANDBOX, id, 'detached');
    await tail(id, ({ offsets }) => offsets.stdout === 2_000_000);
    const { oldest } = await keeper.journal(SANDBOX, id);
    const error: unknown = await attach(id, 1).catch((reason: unknown) => reason);
    expect(refusalOf(error as SandboxError)).toEqual({
      error: 'truncated',
      detail: 'replay_evicted',
      effect: 'none',
      oldest,
    });
    expect(oldest.stdout).toBeGreaterThan(1_000_000);
    expect([feeds.size, tails.size]).toEqual([0, 0]);
  });

  test('a replay that is overtaken by eviction ends with an error of its own', async () => {
    const id = await start('head -c 400000 /dev/zero; read a; head -c 2000000 /dev/zero; read b; echo');
    await tail(id, ({ offsets }) => offsets.stdout === 400_000);
    passReach = false;
    keeper.reach(SANDBOX, id, 'detached');
    outlet.stall();
    await attach(id, 9);
    await type(id, '\n');
    await tail(id, ({ offsets }) => offsets.stdout === 2_400_000);
    outlet.flow();
    expect(await outlet.ended(9)).toEqual({
      sessionId: id,
      error: 'truncated',
      detail: 'replay_evicted',
      replayFor: 9,
    });
  });

  test.each(['session_lost', 'journal_failed', 'disk_full'] as const)('%s is an error, never an exit', async (lost) => {
    const id = await start('printf x');
    await tail(id, ({ ended }) => ended !== undefined);
    journal = (view) => ({ ...view, ended: { lost } });
    await attach(id, 4);
    expect(await outlet.ended(4)).toEqual({ sessionId: id, error: 'unavailable', detail: lost, replayFor: 4 });
    expect(outlet.text(4)).toBe('x');
    (await feeds.open(SANDBOX, id)).start();
    expect(await outlet.ended()).toEqual({ sessionId: id, error: 'unavailable', detail: lost });
    expect(outlet.sent.some(({ event }) => event === 'exit')).toBe(false);
  });

  test('tells the keeper who reads: offsets, hold, detached', async () => {
    const id = await spawn('echo one; read a');
    await outlet.until(() => outlet.text() === 'one\n');
    await feeds.detach(SANDBOX, id, true);
    expect(reaches.at(-1)).toEqual([id, 'hold']);
    await attach(id, 1, { stdout: 2, stderr: 0 });
    expect(reaches.at(-1)).toEqual([id, { stdout: 2, stderr: 0 }]);
    await feeds.detach(SANDBOX, id, false);
    expect(reaches.at(-1)).toEqual([id, 'detached']);
    await expect(feeds.detach(SANDBOX, 'nobody', false)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('evicts nothing of a full journal whose slow reader is taken off, and comes back', async () => {
    outlet.stall();
    const id = await spawn('head -c 1000000 /dev/zero; exit 3');
    await tail(id, ({ position }) => position > 512 * KiB);
    await feeds.detach(SANDBOX, id, true);
    expect((await keeper.journal(SANDBOX, id)).oldest).toEqual({ stdout: 0, stderr: 0 });
    expect(await attach(id, 1)).toEqual({ stdout: 0, stderr: 0 });
    outlet.flow();
    expect(await outlet.ended()).toEqual({ sessionId: id, code: 3 });
    expect(outlet.text(1).length + outlet.text().length).toBe(1_000_000);
  });

  test('with the socket everything is let go: what is attached, held, and about to be', async () => {
    const attached = await spawn('read a');
    const held = await spawn('read a');
    await feeds.detach(SANDBOX, held, true);
    const coming = await start('read a');
    const attaching = feeds.attach(SANDBOX, coming, 1, 'now');
    reaches.length = 0;
    outlet.lose();
    const lost = new Map(reaches);
    expect([attached, held].map((id) => lost.get(id))).toEqual(['detached', 'detached']);
    (await attaching).start();
    (await feeds.open(SANDBOX, coming)).start();
    const last = new Map(reaches);
    expect([attached, held, coming].map((id) => last.get(id))).toEqual(['detached', 'detached', 'detached']);
    expect([feeds.size, tails.size, outlet.sent]).toEqual([0, 0, []]);
  });
});
