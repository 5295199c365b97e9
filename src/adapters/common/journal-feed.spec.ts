import { describe, expect, test } from '@jest/globals';
import { CommandStream } from '#libs/contract';
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

describe('the feed of a journal', () => {
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
