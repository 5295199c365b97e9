import { describe, expect, test } from '@jest/globals';
import { connectPeer, turns, type SentRequest } from '#libs/testing';
import type { RunnerSession } from './link.js';
import type { OutputStream } from './subscriber.js';

const NAME = 'runner-x';
const ID = 's-1';
const LIMITS = { subscriberHighBytes: 64, subscriberLowBytes: 16 };

type Offsets = Record<OutputStream, number>;
interface Chunk {
  readonly stream: OutputStream;
  readonly offset: number;
  readonly data: Uint8Array;
}

class Random {
  constructor(private seed: number) {}

  next(): number {
    this.seed = (this.seed + 0x6d2b79f5) | 0;
    let t = Math.imul(this.seed ^ (this.seed >>> 15), 1 | this.seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  chance(p: number): boolean {
    return this.next() < p;
  }
}

/** What a process writes, and how it ends. */
class Process {
  readonly written: Offsets = { stdout: 0, stderr: 0 };
  readonly journal: Chunk[] = [];
  readonly code: number;
  exited = false;

  constructor(
    private readonly random: Random,
    private left: number,
  ) {
    this.code = random.below(256);
  }

  /** Byte n of a stream is known to everyone. */
  static byte(stream: OutputStream, offset: number): number {
    return (offset * 31 + (stream === 'stdout' ? 7 : 99)) & 0xff;
  }

  /** The next chunk, or the exit as undefined. */
  step(): Chunk | undefined {
    if (this.left-- <= 0) {
      this.exited = true;
      return undefined;
    }
    const stream = this.random.chance(0.7) ? 'stdout' : 'stderr';
    const offset = this.written[stream];
    const data = Uint8Array.from({ length: 1 + this.random.below(24) }, (_, i) => Process.byte(stream, offset + i));
    this.written[stream] += data.length;
    const chunk = { stream, offset, data } as const;
    this.journal.push(chunk);
    return chunk;
  }
}

type Say = (frame: object) => void;

interface Daemon {
  request(request: SentRequest): void;
  /** Does one thing; false when there is nothing to do. */
  step(): boolean;
}

const wire = ({ stream, data }: Chunk): object => ({
  stream,
  session_id: ID,
  data: Buffer.from(data).toString('base64'),
});

/** Offsets in every frame, live output behind the replays, nothing sent to whoever has gone. */
class OffsetDaemon implements Daemon {
  private live: number | undefined;
  private ended = false;
  private held = false;
  private replays: { tag: number; from: Offsets; next: number; until: number }[] = [];

  constructor(
    private readonly process: Process,
    private readonly say: Say,
    private readonly random: Random,
  ) {}

  request({ id, op, from, hold }: SentRequest): void {
    const { journal, exited, written } = this.process;
    if (op === 'spawn') this.live = 0;
    if (op === 'attach') {
      this.held = false;
      const begin = (from === 'now' ? { ...written } : (from ?? { stdout: 0, stderr: 0 })) as Offsets;
      this.ended = this.live === undefined ? exited : this.ended;
      this.live ??= journal.length;
      if (from === 'now') begin.stdout = begin.stderr = 0;
      for (const { stream, data } of from === 'now' ? journal.slice(0, this.live) : []) begin[stream] += data.length;
      this.replays.push({ tag: id, from: begin, next: 0, until: this.live });
      return this.say({ id, ok: true, result: { session_id: ID, from: begin } });
    }
    if (op === 'detach') {
      this.live = undefined;
      this.replays = [];
      this.held = hold === true;
    }
    this.say({ id, ok: true, result: { session_id: ID } });
  }

  step(): boolean {
    const { journal, exited } = this.process;
    if (!exited && !this.held && this.random.chance(0.5)) {
      this.process.step();
      return true;
    }
    const [replay] = this.replays;
    if (replay) this.stepReplay(replay);
    else if (this.live !== undefined && this.live < journal.length) {
      const chunk = journal[this.live++] as Chunk;
      this.say({ ...wire(chunk), offset: chunk.offset });
    } else if (this.live !== undefined && exited && !this.ended) {
      this.ended = true;
      this.say({ stream: 'exit', session_id: ID, code: this.process.code });
      this.live = undefined;
    } else return !exited && !this.held;
    return true;
  }

  private stepReplay(replay: (typeof this.replays)[0]): void {
    while (replay.next < replay.until) {
      const chunk = this.process.journal[replay.next++] as Chunk;
      const skip = Math.max(0, replay.from[chunk.stream] - chunk.offset);
      if (skip >= chunk.data.length) continue;
      const rest = { ...chunk, data: chunk.data.subarray(skip) };
      return this.say({ ...wire(rest), offset: chunk.offset + skip, replay_for: replay.tag });
    }
    this.replays.shift();
    if (!this.ended) return;
    this.say({ stream: 'exit', session_id: ID, code: this.process.code, replay_for: replay.tag });
    if (this.replays.length === 0) this.live = undefined;
  }
}

/** No offsets; a task per request; a replay is the whole journal in one piece, some time after the reply. */
class FieldDaemon implements Daemon {
  private readonly tasks: (() => void)[] = [];

  constructor(
    private readonly process: Process,
    private readonly say: Say,
    private readonly random: Random,
    private attached: boolean,
  ) {}

  request({ id, op }: SentRequest): void {
    this.tasks.push(() => {
      if (op === 'detach') this.attached = false;
      this.say({ id, ok: true, result: { session_id: ID } });
      if (op === 'spawn' || op === 'attach') this.tasks.push(() => this.replay(id));
    });
  }

  step(): boolean {
    const { process } = this;
    const index = this.random.below(this.tasks.length);
    if (this.tasks.length > 0 && this.random.chance(0.5)) this.tasks.splice(index, 1)[0]?.();
    else if (!process.exited) {
      const chunk = process.step();
      if (this.attached) this.say(chunk ? wire(chunk) : { stream: 'exit', session_id: ID, code: process.code });
    } else if (this.tasks.length > 0) this.tasks.splice(index, 1)[0]?.();
    else return false;
    return true;
  }

  private replay(tag: number): void {
    for (const chunk of this.process.journal) this.say({ ...wire(chunk), replay_for: tag });
    if (this.process.exited) this.say({ stream: 'exit', session_id: ID, code: this.process.code, replay_for: tag });
    this.attached = true;
  }
}

/** Takes at its own pace and checks every byte. */
class Reader {
  readonly problems: string[] = [];
  readonly next: Partial<Offsets> = {};
  session: RunnerSession | undefined;
  left = false;
  end: unknown;
  untaken = 0;

  constructor(
    private readonly from: Offsets | 'now',
    private readonly eager: boolean,
  ) {
    if (from !== 'now') Object.assign(this.next, from);
  }

  readonly sink = {
    frame: (frame: { type: string; data?: Uint8Array; offset?: number; exitCode?: number }): void => {
      if (this.end !== undefined || this.left) this.problems.push(`${frame.type} after the end`);
      if (frame.type === 'exit') this.end = frame.exitCode;
      else this.output(frame.type as OutputStream, frame.offset as number, frame.data as Uint8Array);
    },
    error: (error: { code: string; detail?: string }): void => {
      if (this.end !== undefined || this.left) this.problems.push('an error after the end');
      this.end = `${error.code}/${error.detail}`;
    },
  };

  take(bytes: number): void {
    if (!this.session) return;
    const taken = Math.min(bytes, this.untaken);
    this.untaken -= taken;
    this.session.taken(taken);
  }

  leave(): void {
    if (!this.session) return;
    this.left = true;
    this.session.unsubscribe();
  }

  private output(stream: OutputStream, offset: number, data: Uint8Array): void {
    const expected = (this.next[stream] ??= offset);
    if (offset !== expected) this.problems.push(`${stream}: ${offset} where ${expected} was due`);
    for (const [i, byte] of data.entries()) {
      if (byte !== Process.byte(stream, offset + i)) this.problems.push(`${stream}: wrong byte at ${offset + i}`);
    }
    this.next[stream] = offset + data.length;
    this.untaken += data.length;
    if (this.eager) this.take(data.length);
  }

  /** Against a process that has ended. */
  verdict({ written, code }: Process): string[] {
    if (!this.left && this.end !== code) this.problems.push(`ended with ${String(this.end)}, not ${code}`);
    if (this.left) return this.problems;
    for (const stream of ['stdout', 'stderr'] as const) {
      const next = this.next[stream] ?? written[stream];
      if (next !== Math.max(written[stream], this.from === 'now' ? 0 : this.from[stream]))
        this.problems.push(`${stream}: ${next} of ${written[stream]} bytes`);
    }
    return this.problems;
  }
}

async function run(seed: number, kind: 'offsets' | 'field'): Promise<unknown> {
  const random = new Random(seed);
  const process = new Process(random, random.below(60));
  const { peer, connection, clock } = connectPeer({
    limits: LIMITS,
    ...(kind === 'offsets' && { instance: 'i-1' }),
  });
  const toDaemon: SentRequest[] = [];
  const toPlatform: object[] = [];
  const say: Say = (frame) => void toPlatform.push(frame);
  const spawned = random.chance(0.6);
  const daemon =
    kind === 'offsets'
      ? new OffsetDaemon(process, say, random)
      : new FieldDaemon(process, say, random, !spawned && random.chance(0.5));
  peer.onRequest = (request) => toDaemon.push(request);
  let paused = false;
  peer.pause = () => (paused = true);
  peer.resume = () => (paused = false);

  const readers: Reader[] = [];
  const failures: unknown[] = [];
  const join = (op: 'spawn' | 'attach'): void => {
    const pick = random.below(4);
    // Only a place that was seen is one that exists.
    const seen = Math.max(0, ...readers.map(({ next }) => next.stdout ?? 0));
    const from = op === 'attach' && pick === 0 ? 'now' : { stdout: pick === 1 ? random.below(seen + 1) : 0, stderr: 0 };
    const reader = new Reader(op === 'spawn' ? { stdout: 0, stderr: 0 } : from, random.chance(0.4));
    readers.push(reader);
    const body = op === 'spawn' ? { name: NAME, cmd: 'x', args: [] } : { name: NAME, sessionId: ID, from };
    void (async () => {
      try {
        reader.session = await connection.open(op, body as never, reader.sink);
        reader.take(random.below(reader.untaken + 1));
      } catch (error) {
        failures.push(error);
      }
    })();
  };
  if (spawned) join('spawn');

  const deliver = (): boolean => {
    const frame = paused ? undefined : toPlatform.shift();
    if (frame) peer.say(frame);
    return frame !== undefined;
  };
  const hear = (): boolean => {
    const request = toDaemon.shift();
    if (request) daemon.request(request);
    return request !== undefined;
  };
  for (let i = 0; i < 300; i++) {
    const what = random.below(20);
    if (what < 7) deliver();
    else if (what < 10) hear();
    else if (what < 15) daemon.step();
    else if (what < 18 && readers.length > 0) readers[random.below(readers.length)]?.take(random.below(80));
    else if (what === 18 && readers.length < 6 && (!spawned || readers[0]?.session) && random.chance(0.3))
      join('attach');
    else if (readers.length > 0 && random.chance(0.05)) readers[random.below(readers.length)]?.leave();
    if (random.chance(0.3)) await turns(1);
  }
  // From here on everybody reads to the end.
  for (let idle = 0; idle < 4; idle++) {
    for (const reader of readers) reader.take(Infinity);
    await turns(2);
    while (hear() || deliver() || daemon.step()) {
      idle = 0;
      if (random.chance(0.2)) for (const reader of readers) reader.take(Infinity);
      if (random.chance(0.2)) await turns(1);
    }
    if (idle === 2) clock.advance(1_000);
  }
  const problems = readers.flatMap((reader, i) => reader.verdict(process).map((problem) => `reader ${i}: ${problem}`));
  const { pending, sessions, subscribers, timers } = connection.stats();
  const open = { pending, sessions, subscribers, timers };
  peer.hangUp();
  await turns(1);
  return { problems, failures, open, sum: Object.values(connection.stats()).reduce((a, b) => a + b, 0) };
}

const CLEAN = { problems: [], failures: [], open: { pending: 0, sessions: 0, subscribers: 0, timers: 0 }, sum: 0 };

describe('replay, live output and slow readers, in any order', () => {
  test.each(['offsets', 'field'] as const)('%s: every byte once, then the exit, and nothing is left', async (kind) => {
    for (let seed = 1; seed <= 500; seed++) expect([seed, await run(seed, kind)]).toEqual([seed, CLEAN]);
  });
});
