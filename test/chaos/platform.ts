import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { settles } from '../support/until.js';
import { END_MS } from './bounds.js';
import type { StoryRecord } from './evidence.js';
import type { FromPlatform, PlatformSetup, ToPlatform } from './messages.js';
import { storyOf } from './story.js';

export interface PlatformContext extends Omit<PlatformSetup, 'incarnation' | 'open' | 'nextStory'> {
  readonly temporary: string;
  readonly on: (message: FromPlatform) => void;
  readonly complain: (what: string) => void;
  /** Nobody is connected to it any more. */
  readonly gone: () => void;
}

/** A story goes on in the next platform if it is only about a session that outlives its caller. */
const RESUMED: ReadonlySet<string> = new Set(['stream', 'flood', 'twin']);

/** One platform process after the other, each with the callers of the one before. */
export class Platform {
  private child: ChildProcess | undefined;
  private incarnation = 0;
  private asked = false;
  private over = false;
  private readonly records = new Map<number, StoryRecord>();
  private nextStory = 0;
  private turn: Promise<unknown> = Promise.resolve();
  /** Every port that one listened on. */
  readonly ports: number[] = [];

  constructor(private readonly context: PlatformContext) {}

  get begun(): number {
    return this.nextStory;
  }

  /** Stories that are under way. */
  get open(): readonly StoryRecord[] {
    return [...this.records.values()];
  }

  /** Resolves when it listens. */
  async start(): Promise<void> {
    if (this.over) return;
    const { temporary, on, complain, gone, sessions, runners, marks, seed, daemons, longestSeconds } = this.context;
    const child = fork(fileURLToPath(new URL('platform-process.js', import.meta.url)), [], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, TMPDIR: temporary, NODE_OPTIONS: '' },
    });
    this.child = child;
    this.asked = false;
    child.on('error', () => {});
    child.stderr?.setEncoding('utf8').on('data', (text: string) => complain(`the platform said: ${text.trim()}`));
    child.on('message', (message) => this.heard(message as FromPlatform, on));
    child.once('exit', (code, signal) => {
      gone();
      if (!this.asked) complain(`the platform ended by itself (${signal ?? code})`);
    });
    const listening = this.next('listening');
    const setup: PlatformSetup = {
      incarnation: this.incarnation++,
      sessions,
      runners,
      marks,
      seed,
      daemons,
      longestSeconds,
      open: this.open.filter(({ index, session }) => session && RESUMED.has(storyOf(this.context, index).kind)),
      nextStory: this.nextStory,
    };
    this.records.clear();
    for (const record of setup.open) this.records.set(record.index, record);
    this.send({ type: 'begin', setup });
    this.ports.push((await listening).port);
  }

  restart(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const work = async (): Promise<void> => {
      await this.end(signal);
      await this.start();
    };
    const done = this.turn.then(work);
    this.turn = done.catch(() => {});
    return done;
  }

  /** Sends it and resolves with the answer of that type. */
  async ask<T extends FromPlatform['type']>(
    message: ToPlatform,
    answer: T,
    withinMs: number,
  ): Promise<Extract<FromPlatform, { type: T }>> {
    const next = this.next(answer, withinMs);
    this.send(message);
    return next;
  }

  async close(): Promise<Extract<FromPlatform, { type: 'closed' }>> {
    this.asked = true;
    const exit = once(this.child as ChildProcess, 'exit');
    const closed = await this.ask({ type: 'close' }, 'closed', 2 * END_MS);
    await settles('the platform', exit, END_MS);
    return closed;
  }

  /** At once, whatever it is in, and for good. */
  async kill(): Promise<void> {
    this.over = true;
    await this.end('SIGKILL');
  }

  private async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const { child } = this;
    this.asked = true;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill(signal);
    try {
      const [code] = (await settles('the platform', exit, END_MS)) as [number | null];
      if (signal === 'SIGTERM' && code !== 0)
        this.context.complain(`the platform ended with ${code} when it was stopped`);
    } catch {
      this.context.complain(`the platform did not end within ${END_MS} ms of ${signal}`);
      child.kill('SIGKILL');
    }
  }

  private send(message: ToPlatform): void {
    this.child?.send(message, () => {});
  }

  private heard(message: FromPlatform, on: (message: FromPlatform) => void): void {
    if (message.type === 'report') for (const record of message.stories) this.remember(record);
    on(message);
  }

  private remember(record: StoryRecord): void {
    this.nextStory = Math.max(this.nextStory, record.index + 1);
    if (record.over) this.records.delete(record.index);
    else this.records.set(record.index, record);
  }

  private async next<T extends FromPlatform['type']>(
    type: T,
    withinMs = END_MS,
  ): Promise<Extract<FromPlatform, { type: T }>> {
    const child = this.child as ChildProcess;
    let hear!: (message: unknown) => void;
    let miss!: () => void;
    const heard = new Promise<Extract<FromPlatform, { type: T }>>((resolve, reject) => {
      hear = (message) => {
        if ((message as FromPlatform).type === type) resolve(message as Extract<FromPlatform, { type: T }>);
      };
      // Comes behind every message.
      miss = () => reject(new Error(`the platform ended without a word of ${type}`));
      child.on('message', hear).once('disconnect', miss);
    });
    try {
      return await settles(`${type} of the platform`, heard, withinMs);
    } finally {
      child.off('message', hear).off('disconnect', miss);
    }
  }
}
