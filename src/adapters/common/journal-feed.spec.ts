import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { CommandStream, SandboxError } from '#libs/contract';
import { Deadline } from './deadline.js';
import { JournalFeed } from './journal-feed.js';
import type { ShProcess, ShSink } from './sh-process.js';

const ALL = Buffer.from('@f 0 0 0\n@o 0 5\nhello@x 3 5 0 -\n');

/** A feed whose readers do what `read` does with their sink before they are known. */
function feed(read: (sink: ShSink, feed: JournalFeed) => Promise<void>) {
  const stream = new CommandStream();
  const closed: string[] = [];
  let ends = 0;
  const made: JournalFeed = new JournalFeed({
    nonce: '0'.repeat(32),
    stream,
    openReader: async (_, sink) => {
      await read(sink, made);
      const process: ShProcess = {
        pid: '7',
        write: () => Promise.resolve(),
        closeStdin: () => Promise.resolve(),
        close: () => void closed.push('7'),
      };
      return process;
    },
    timeoutMs: 60_000,
    survives: true,
    onEnd: () => void (ends += 1),
  });
  return { made, stream, closed, ends: () => ends };
}

const LOST = new SandboxError('unavailable', { effect: 'unknown', message: 'lost' });

/** A feed whose readers, one after the other, do what these do with their sinks; each may refuse its credit. */
function feedOf(...readers: ((sink: ShSink) => void | (() => Promise<void>))[]) {
  const stream = new CommandStream();
  const made: JournalFeed = new JournalFeed({
    nonce: '0'.repeat(32),
    stream,
    openReader: async (_, sink) => {
      const write = readers.shift()?.(sink) ?? (() => Promise.resolve());
      return await Promise.resolve({ pid: '7', write, closeStdin: () => Promise.resolve(), close: () => {} });
    },
    timeoutMs: 60_000,
    survives: true,
    onEnd: () => {},
  });
  return { made, stream };
}

afterEach(() => {
  jest.restoreAllMocks();
});

describe('the feed of a journal', () => {
  test('goes on with another reader where one perhaps got no credit', async () => {
    const { made, stream } = feedOf(
      (sink) => {
        sink.output(Buffer.from('@f 0 0 0\n@o 0 3\nhel'));
        return () => Promise.reject(LOST);
      },
      (sink) => sink.output(Buffer.from('@f 3 0 0\n@o 3 2\nlo@x 3 5 0 -\n')),
    );
    using deadline = new Deadline(60_000);
    await made.attach({ stdout: 0, stderr: 0 }, deadline);
    expect(await stream.exit).toEqual({ exitCode: 3 });
    expect(stream.outputBytes).toBe(5);
  });

  test('takes what refuses credit because it has ended at its last word', async () => {
    const ended = new SandboxError('command_exited', { effect: 'none', message: 'ended' });
    const { made, stream } = feedOf((sink) => {
      sink.output(Buffer.from('@f 0 0 0\n@o 0 5\nhello'));
      return async () => {
        setImmediate(() => sink.output(Buffer.from('@x 3 5 0 -\n')));
        await Promise.reject(ended);
      };
    });
    using deadline = new Deadline(60_000);
    await made.attach({ stdout: 0, stderr: 0 }, deadline);
    expect(await stream.exit).toEqual({ exitCode: 3 });
  });

  test('sees a reader end right behind its first word', async () => {
    const { made, stream } = feedOf(
      (sink) => {
        sink.output(Buffer.from('@f 0 0 0\n'));
        sink.closed(LOST);
      },
      (sink) => sink.output(ALL),
    );
    using deadline = new Deadline(60_000);
    await made.attach({ stdout: 0, stderr: 0 }, deadline);
    expect(await stream.exit).toEqual({ exitCode: 3 });
  });

  test('follows a session that prints nothing over any number of streams that each lasted', async () => {
    let nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const cuts: (() => void)[] = [];
    const quiet = (sink: ShSink): void => {
      sink.output(Buffer.from('@f 0 0 0\n'));
      cuts.push(() => sink.closed(LOST));
    };
    const { made, stream } = feedOf(...Array.from({ length: 7 }, () => quiet), (sink) => sink.output(ALL));
    using deadline = new Deadline(60_000);
    await made.attach({ stdout: 0, stderr: 0 }, deadline);
    for (let cut = 0; cut < 7; cut += 1) {
      while (cuts.length <= cut) await new Promise((resolve) => setTimeout(resolve, 5));
      await new Promise((resolve) => setImmediate(resolve));
      nowMs += 600_000;
      cuts[cut]?.();
    }
    expect(await stream.exit).toEqual({ exitCode: 3 });
  }, 20_000);

  test('hears a reader that has said everything before it is known, and lets go of it', async () => {
    const { made, stream, closed, ends } = feed((sink) => Promise.resolve(sink.output(ALL)));
    using deadline = new Deadline(60_000);
    expect(await made.attach({ stdout: 0, stderr: 0 }, deadline)).toEqual(['f', '0', '0', '0']);
    expect(await stream.exit).toEqual({ exitCode: 3 });
    expect(stream.outputBytes).toBe(5);
    expect([closed.length > 0, ends()]).toEqual([true, 1]);
  });

  test('waits for no word of a reader that comes when it has been stopped', async () => {
    const { made, closed } = feed((_, stopped) => Promise.resolve(stopped.stop()));
    using deadline = new Deadline(60_000);
    const attaching = made.attach({ stdout: 0, stderr: 0 }, deadline);
    await expect(attaching).rejects.toMatchObject({ code: 'unavailable', detail: 'closed_before_exit' });
    expect(closed).toEqual(['7']);
  });

  test('leaves a service alone for as long as it asks, and a minute at most', async () => {
    const waits: unknown[] = [];
    const { setTimeout: real } = globalThis;
    jest.spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms: number) => {
      if (ms >= 250 && ms <= 60_000) waits.push(ms);
      return real(work, ms > 1000 && ms < 60_000 ? 1 : ms);
    }) as typeof setTimeout);
    const asks = (retryAfterMs: number): SandboxError => new SandboxError('rate_limited', { retryAfterMs });
    const { made, stream } = feedOf(
      (sink) => sink.closed(asks(7_000)),
      (sink) => sink.output(ALL),
    );
    made.live.closed(LOST);
    expect(await stream.exit).toEqual({ exitCode: 3 });
    expect(waits).toContain(7_000);
  });

  test('keeps no timer of a reader that has not spoken when it is stopped', async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const before = timers();
    let opened = (): void => {};
    const isOpened = new Promise<void>((resolve) => (opened = resolve));
    const { made, stream } = feedOf(() => opened());
    made.live.closed(LOST);
    await isOpened;
    await new Promise((resolve) => setImmediate(resolve));
    expect(timers()).toBe(before + 1);
    made.stop();
    await new Promise((resolve) => setImmediate(resolve));
    expect([timers(), stream.end]).toEqual([before, undefined]);
  });

  test('opens no reader while its sandbox is meant to stand still', async () => {
    const stream = new CommandStream();
    let opened = 0;
    let goOn: (stood: boolean) => void = () => {};
    const made: JournalFeed = new JournalFeed({
      nonce: '0'.repeat(32),
      stream,
      ready: () => new Promise((resolve) => (goOn = resolve)),
      openReader: async (_, sink) => {
        opened += 1;
        sink.output(ALL);
        return await Promise.resolve({
          pid: '7',
          write: () => Promise.resolve(),
          closeStdin: () => Promise.resolve(),
          close: () => {},
        });
      },
      timeoutMs: 60_000,
      survives: true,
      onEnd: () => {},
    });
    made.live.closed(Object.assign(new Error('lost')) as never);
    await new Promise((resolve) => setImmediate(resolve));
    expect(opened).toBe(0);
    goOn(true);
    expect(await stream.exit).toEqual({ exitCode: 3 });
    expect(opened).toBe(1);
  });
});
