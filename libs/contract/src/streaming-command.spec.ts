import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { firstValueFrom, lastValueFrom, take, toArray } from 'rxjs';
import type { SandboxCommand } from './command.js';
import type { CommandChannel } from './command-channel.js';
import { CommandStream } from './command-stream.js';
import type { OutputFrame, SandboxFrame, TerminalSize } from './frames.js';
import { sandboxHandle } from './handle.js';
import type { CallOptions } from './operations.js';
import { withBackoff } from './retry.js';
import { SandboxError } from './sandbox-error.js';
import { StreamingCommand } from './streaming-command.js';

const EXIT: SandboxFrame = { type: 'exit', exitCode: 7 };
const LOST = new SandboxError('unavailable', { detail: 'runner_disconnected', provider: 'fake' });
const NAMED_LOST = { detail: 'runner_disconnected', provider: 'fake', operation: 'spawn' };
const DETACHED = { code: 'unavailable', detail: 'detached', effect: 'unknown' };
const CONSUMED = { code: 'invalid', detail: 'already_consumed', effect: 'none' };

/** Records what a command asks of its channel. With `holds`, writes wait for `answer`. */
class RecordingChannel implements CommandChannel {
  readonly calls: string[] = [];
  readonly pending: ((error?: unknown) => void)[] = [];
  takenBytes = 0;
  holds = false;
  failure: unknown;

  taken(bytes: number): void {
    this.takenBytes += bytes;
  }

  write(data: Uint8Array, _options?: CallOptions): Promise<void> {
    this.calls.push(data.byteLength > 20 ? `write ${data.byteLength}` : `write ${Buffer.from(data).toString()}`);
    return this.#outcome();
  }

  closeStdin(): Promise<void> {
    this.calls.push('close');
    return this.#outcome();
  }

  resize({ cols, rows }: TerminalSize): Promise<void> {
    this.calls.push(`resize ${cols}x${rows}`);
    return this.#outcome();
  }

  async stop(): Promise<void> {
    this.calls.push('stop');
  }

  answer(error?: unknown): void {
    this.pending.shift()?.(error);
  }

  #outcome(): Promise<void> {
    if (this.failure !== undefined) return Promise.reject(this.failure);
    if (!this.holds) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.pending.push((error) => (error === undefined ? resolve() : reject(error)));
    });
  }
}

function setUp({ stdin = true, tty = false, channel = new RecordingChannel() } = {}) {
  const stream = new CommandStream();
  const handle = sandboxHandle('fake', 'box');
  const command = new StreamingCommand({ provider: 'fake', handle, sessionId: 's-1', stream, channel, stdin, tty });
  return { stream, channel, command };
}

function output(text: string, type: 'stdout' | 'stderr' = 'stdout'): OutputFrame {
  return { type, data: Buffer.from(text), offset: 0 };
}

/** Everything that is due in this turn of the event loop has happened. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => expect(value).toBe('a rejection'),
    (error: unknown) => error,
  );
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

test('names itself uniquely and is bound to its handle and session', () => {
  const [one, two] = [setUp().command, setUp().command];
  expect(one.ref).not.toBe(two.ref);
  expect(one).toMatchObject({ provider: 'fake', sessionId: 's-1', handle: { provider: 'fake', name: 'box' } });
});

test('inspect shows no output and no stdin', async () => {
  const { command, stream, channel } = setUp();
  channel.holds = true;
  stream.frame(output('hunter2'));
  void command.writeStdin('hunter2').catch(() => {});
  const shown = inspect(command, { depth: 10, showHidden: true });
  expect(shown).toContain("sessionId: 's-1'");
  expect(shown).not.toMatch(/hunter2|68 75 6e/);
});

describe('the iterator', () => {
  test('gives frames in order, the exit last, and returns the credit of each', async () => {
    const { stream, channel, command } = setUp();
    stream.frame(output('one'));
    const frames = command[Symbol.asyncIterator]();
    expect(await frames.next()).toEqual({ done: false, value: output('one') });
    expect(channel.takenBytes).toBe(3);
    stream.frame(output('err', 'stderr'));
    stream.frame(EXIT);
    expect(await frames.next()).toEqual({ done: false, value: output('err', 'stderr') });
    expect(await frames.next()).toEqual({ done: false, value: EXIT });
    expect(await frames.next()).toEqual({ done: true, value: undefined });
    expect(channel.takenBytes).toBe(6);
    expect(channel.calls).toEqual([]);
  });

  test('does not read ahead: what was not asked for holds its credit', async () => {
    const { stream, channel, command } = setUp();
    stream.frame(output('one'));
    stream.frame(output('two!'));
    await command[Symbol.asyncIterator]().next();
    await turn();
    expect([channel.takenBytes, stream.queuedBytes]).toEqual([3, 4]);
  });

  test('answers calls that were not awaited in their order', async () => {
    const { stream, command } = setUp();
    const frames = command[Symbol.asyncIterator]();
    const nexts = [frames.next(), frames.next(), frames.next(), frames.next()];
    for (const frame of [output('a'), output('b'), EXIT]) stream.frame(frame);
    expect(await Promise.all(nexts)).toEqual([
      { done: false, value: output('a') },
      { done: false, value: output('b') },
      { done: false, value: EXIT },
      { done: true, value: undefined },
    ]);
  });

  test('throws the error that ended the stream once, after what came before it', async () => {
    const { stream, command } = setUp();
    stream.frame(output('a'));
    stream.error(LOST);
    const frames = command[Symbol.asyncIterator]();
    expect(await frames.next()).toEqual({ done: false, value: output('a') });
    expect(await failureOf(frames.next())).toMatchObject(NAMED_LOST);
    expect(await frames.next()).toEqual({ done: true, value: undefined });
  });

  test('leaving the loop detaches', async () => {
    const { stream, channel, command } = setUp();
    stream.frame(output('a'));
    stream.frame(output('b'));
    for await (const _ of command) break;
    expect(channel.calls).toEqual(['stop']);
    await expect(command.exit).rejects.toMatchObject(DETACHED);
    expect(channel.takenBytes).toBe(2);
  });

  test('return ends a next that waits', async () => {
    const { channel, command } = setUp();
    const frames = command[Symbol.asyncIterator]();
    const waiting = frames.next();
    await turn();
    expect(await frames.return?.()).toEqual({ done: true, value: undefined });
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(channel.calls).toEqual(['stop']);
  });

  test('return after the exit does nothing', async () => {
    const { stream, channel, command } = setUp();
    stream.frame(EXIT);
    const frames = command[Symbol.asyncIterator]();
    await frames.next();
    await frames.return?.();
    expect(channel.calls).toEqual([]);
  });

  test('stop by someone else ends a waiting next with detached', async () => {
    const { command } = setUp();
    const waiting = command[Symbol.asyncIterator]().next();
    await command.stop();
    await expect(waiting).rejects.toMatchObject(DETACHED);
  });
});

describe('frames$', () => {
  test('delivers nothing before subscribe has returned, then everything and completes', async () => {
    const { stream, command, channel } = setUp();
    stream.frame(output('early'));
    stream.frame(EXIT);
    let returned = false;
    const seen: unknown[] = [];
    await new Promise<void>((complete) => {
      command.frames$.subscribe({ next: (frame) => seen.push([returned, frame]), complete });
      returned = true;
    });
    expect(seen).toEqual([
      [true, output('early')],
      [true, EXIT],
    ]);
    expect(channel.calls).toEqual([]);
  });

  test('returns credit when next returns', async () => {
    const { stream, command, channel } = setUp();
    const takenInNext: number[] = [];
    command.frames$.subscribe(() => takenInNext.push(channel.takenBytes));
    await turn();
    stream.frame(output('abc'));
    stream.frame(output('de'));
    expect(takenInNext).toEqual([0, 3]);
    expect(channel.takenBytes).toBe(5);
  });

  test('keeps the order when next makes another frame arrive', async () => {
    const { stream, command } = setUp();
    const seen: string[] = [];
    command.frames$.subscribe((frame) => {
      const text = frame.type === 'exit' ? 'exit' : Buffer.from(frame.data).toString();
      seen.push(`<${text}`);
      if (text === 'a') stream.frame(output('b'));
      seen.push(`${text}>`);
    });
    await turn();
    stream.frame(output('a'));
    expect(seen).toEqual(['<a', 'a>', '<b', 'b>']);
  });

  test('ends with the error, after the frames before it, and does not complete', async () => {
    const { stream, command } = setUp();
    stream.frame(output('a'));
    stream.error(LOST);
    const seen: unknown[] = [];
    await new Promise<void>((done) => {
      command.frames$.subscribe({
        next: (frame) => seen.push(frame),
        complete: () => seen.push('complete'),
        error: (error) => done(void seen.push(error)),
      });
    });
    expect(seen).toEqual([output('a'), LOST]);
  });

  test('unsubscribing detaches; what comes later is not delivered', async () => {
    const { stream, command, channel } = setUp();
    const seen: unknown[] = [];
    const subscription = command.frames$.subscribe((frame) => seen.push(frame));
    await turn();
    subscription.unsubscribe();
    stream.frame(output('late'));
    expect(seen).toEqual([]);
    expect(channel.calls).toEqual(['stop']);
    await expect(command.exit).rejects.toMatchObject(DETACHED);
  });

  test('taking the first frame detaches; taking all including the exit does not', async () => {
    const first = setUp();
    first.stream.frame(output('a'));
    first.stream.frame(EXIT);
    expect(await firstValueFrom(first.command.frames$)).toEqual(output('a'));
    const whole = setUp();
    whole.stream.frame(output('a'));
    let stops = 0;
    whole.command.stop = async () => void (stops += 1);
    const frames = lastValueFrom(whole.command.frames$.pipe(take(2), toArray()));
    await turn();
    whole.stream.frame(EXIT);
    expect(await frames).toEqual([output('a'), EXIT]);
    expect(stops).toBe(0);
  });
});

describe('forEach and drain', () => {
  test('waits for an asynchronous sink and returns credit only then', async () => {
    const { stream, command, channel } = setUp();
    const release: (() => void)[] = [];
    const seen: unknown[] = [];
    const ended = command.forEach(async (frame) => {
      seen.push(frame);
      await new Promise<void>((resolve) => release.push(resolve));
    });
    stream.frame(output('a'));
    stream.frame(output('b', 'stderr'));
    stream.frame(EXIT);
    await turn();
    expect([seen, channel.takenBytes]).toEqual([[output('a')], 0]);
    release.shift()?.();
    await turn();
    expect([seen, channel.takenBytes]).toEqual([[output('a'), output('b', 'stderr')], 1]);
    release.shift()?.();
    expect(await ended).toEqual({ exitCode: 7 });
    expect(channel.takenBytes).toBe(2);
  });

  test('calls no sink before its caller has the promise, also for what is here already', async () => {
    const { stream, command } = setUp();
    for (const frame of [output('a'), output('b'), EXIT]) stream.frame(frame);
    const seen: unknown[] = [];
    const ended = command.forEach((frame) => void seen.push(frame));
    expect(seen).toEqual([]);
    expect(await ended).toEqual({ exitCode: 7 });
    expect(seen).toEqual([output('a'), output('b')]);
  });

  test('rethrows what the sink throws as it is, after detaching', async () => {
    for (const sink of [
      () => {
        throw 'mine';
      },
      () => Promise.reject('mine'),
    ]) {
      const { stream, command, channel } = setUp();
      stream.frame(output('a'));
      expect(await failureOf(command.forEach(sink))).toBe('mine');
      expect(channel.calls).toEqual(['stop']);
    }
  });

  test('rejects with the error of the stream', async () => {
    const { stream, command } = setUp();
    stream.error(LOST);
    expect(await failureOf(command.drain())).toMatchObject(NAMED_LOST);
  });

  test('drain reads everything and gives the exit', async () => {
    const { stream, command, channel } = setUp();
    const exit = command.drain();
    stream.frame(output('abc'));
    stream.frame({ type: 'exit', exitCode: 143, signal: 'SIGTERM' });
    expect(await exit).toEqual({ exitCode: 143, signal: 'SIGTERM' });
    expect(channel.takenBytes).toBe(3);
  });

  test('a sink that is not a function is invalid and claims nothing', async () => {
    const { stream, command } = setUp();
    stream.frame(EXIT);
    await expect(command.forEach(undefined as never)).rejects.toMatchObject({ code: 'invalid', detail: 'argument' });
    expect(await command.drain()).toEqual({ exitCode: 7 });
  });
});

describe('one reader', () => {
  const ways: [string, (command: SandboxCommand) => Promise<unknown>][] = [
    ['frames$', (command) => lastValueFrom(command.frames$.pipe(toArray()))],
    ['forEach', (command) => command.forEach(() => {})],
    ['drain', (command) => command.drain()],
    ['the iterator', async (command) => void (await all(command))],
    [
      'streams',
      (command) => new Promise((end, fail) => command.streams().stdout.on('end', end).on('error', fail).resume()),
    ],
  ];
  for (const [first, read] of ways) {
    test(`after ${first} every other way is invalid / already_consumed, and the first gets all`, async () => {
      const { stream, command, channel } = setUp();
      const reading = read(command);
      for (const [, again] of ways) expect(await failureOf(again(command))).toMatchObject(CONSUMED);
      stream.frame(EXIT);
      await reading;
      expect(channel.calls).toEqual([]);
    });
  }

  test('exit claims nothing', async () => {
    const { stream, command } = setUp();
    const { exit } = command;
    stream.frame(EXIT);
    expect(await exit).toEqual({ exitCode: 7 });
    expect(await command.drain()).toEqual({ exitCode: 7 });
  });
});

describe('streams', () => {
  test('give each stream its exact bytes and end', async () => {
    const { stream, command, channel } = setUp();
    const { stdout, stderr } = command.streams();
    stream.frame({ type: 'stdout', data: Uint8Array.of(0xe2, 0x82), offset: 0 });
    stream.frame(output('err', 'stderr'));
    stream.frame({ type: 'stdout', data: Uint8Array.of(0xac, 0xff), offset: 2 });
    stream.frame(EXIT);
    const [out, err] = await Promise.all([stdout.toArray(), stderr.toArray()]);
    expect(Buffer.concat(out)).toEqual(Buffer.from([0xe2, 0x82, 0xac, 0xff]));
    expect(Buffer.concat(err).toString()).toBe('err');
    expect(channel.takenBytes).toBe(7);
    expect(channel.calls).toEqual([]);
  });

  test('a stream that is not read keeps its bytes and their credit while the other one is read', async () => {
    const { stream, command, channel } = setUp();
    const { stdout, stderr } = command.streams();
    for (let i = 0; i < 10; i += 1) {
      stream.frame(output(`out ${i} `));
      stream.frame(output(`err ${i} `, 'stderr'));
    }
    stream.frame(EXIT);
    expect(Buffer.concat(await stderr.toArray()).toString()).toBe(
      'err 0 err 1 err 2 err 3 err 4 err 5 err 6 err 7 err 8 err 9 ',
    );
    expect(channel.takenBytes).toBe(60);
    expect(Buffer.concat(await stdout.toArray()).toString()).toHaveLength(60);
    expect(channel.takenBytes).toBe(120);
  });

  test('read ahead no further than the high-water mark and one frame', async () => {
    const { stream, command, channel } = setUp();
    const { stdout } = command.streams();
    stdout.read(0);
    const frame: OutputFrame = { type: 'stdout', data: Buffer.alloc(16 * 1024), offset: 0 };
    for (let i = 0; i < 64; i += 1) stream.frame(frame);
    await turn();
    expect(channel.takenBytes).toBeLessThanOrEqual(stdout.readableHighWaterMark + frame.data.byteLength);
    expect(channel.takenBytes).toBe(stdout.readableLength);
  });

  test('give everything before an error, to a reader however slow, then the error', async () => {
    const { stream, command } = setUp();
    const { stdout, stderr } = command.streams();
    stdout.read(0);
    stream.frame(output('a'));
    stream.frame(output('b'));
    stream.error(LOST);
    await turn();
    await turn();
    const seen: string[] = [];
    const failure = await failureOf(
      (async () => {
        for await (const chunk of stdout) {
          seen.push(String(chunk));
          await turn();
        }
      })(),
    );
    expect(seen.join('')).toBe('ab');
    expect(failure).toMatchObject(NAMED_LOST);
    expect(await failureOf(stderr.toArray())).toMatchObject(NAMED_LOST);
  });

  test('an error that nobody listens to is no uncaught exception', async () => {
    const { stream, command } = setUp();
    const { stdout, stderr } = command.streams();
    stdout.resume();
    stderr.resume();
    stream.error(LOST);
    await turn();
    await turn();
    expect([stdout.errored, stderr.errored]).toEqual([LOST, LOST]);
  });

  test('destroying one drops its bytes and goes on with the other; destroying both detaches', async () => {
    const { stream, command, channel } = setUp();
    const { stdout, stderr } = command.streams();
    stream.frame(output('abc', 'stderr'));
    stderr.destroy();
    await turn();
    expect(channel.takenBytes).toBe(3);
    stream.frame(output('def', 'stderr'));
    expect(channel.takenBytes).toBe(6);
    expect(channel.calls).toEqual([]);
    stdout.destroy();
    await turn();
    expect(channel.calls).toEqual(['stop']);
    await expect(command.exit).rejects.toMatchObject(DETACHED);
  });

  test('stop ends them with detached', async () => {
    const { command } = setUp();
    const { stdout } = command.streams();
    const reading = stdout.toArray();
    await command.stop();
    expect(await failureOf(reading)).toMatchObject(DETACHED);
  });
});

describe('stop', () => {
  test('detaches once, drops what waits, and is idempotent by every name', async () => {
    const { stream, command, channel } = setUp();
    stream.frame(output('abc'));
    await Promise.all([command.stop(), command.stop()]);
    await command[Symbol.asyncDispose]();
    expect(channel.calls).toEqual(['stop']);
    expect(channel.takenBytes).toBe(3);
    expect(await failureOf(command.drain())).toMatchObject(DETACHED);
  });

  test('after the end does not call the channel', async () => {
    const { stream, command, channel } = setUp();
    stream.frame(EXIT);
    await command.stop();
    expect(channel.calls).toEqual([]);
    expect(await command.exit).toEqual({ exitCode: 7 });
  });

  test('a channel that fails makes it reject as stopCommand; unsubscribing stays silent', async () => {
    const failing = new RecordingChannel();
    failing.stop = () => Promise.reject(new Error('token=hunter2'));
    const { command } = setUp({ channel: failing });
    command.frames$.subscribe().unsubscribe();
    await turn();
    const failure = await failureOf(command.stop());
    expect(failure).toMatchObject({ code: 'provider', operation: 'stopCommand', provider: 'fake', effect: 'unknown' });
    expect((failure as Error).message).not.toContain('hunter2');
  });
});

describe('stdin', () => {
  test('writes in the order of the calls, one at a time, and closes last', async () => {
    const { command, channel } = setUp();
    channel.holds = true;
    const done: string[] = [];
    const calls = [
      command.writeStdin('1').then(() => done.push('1')),
      command.writeStdin('2').then(() => done.push('2')),
      command.closeStdin().then(() => done.push('close')),
    ];
    await turn();
    expect(channel.calls).toEqual(['write 1']);
    channel.answer();
    await turn();
    expect([channel.calls, done]).toEqual([['write 1', 'write 2'], ['1']]);
    channel.answer();
    await turn();
    channel.answer();
    await Promise.all(calls);
    expect(channel.calls).toEqual(['write 1', 'write 2', 'close']);
    expect(done).toEqual(['1', '2', 'close']);
  });

  test('splits into requests of at most 256 KiB; nothing to write is no request', async () => {
    const { command, channel } = setUp();
    await command.writeStdin(new Uint8Array(600 * 1024));
    await command.writeStdin('');
    expect(channel.calls).toEqual(['write 262144', 'write 262144', 'write 90112']);
  });

  test('writes that wait for another go together, as far as they fit into one request, and share what comes of it', async () => {
    const { command, channel } = setUp();
    channel.holds = true;
    const over = new AbortController();
    const done: string[] = [];
    const write = (data: Uint8Array, name: string, signal?: AbortSignal) =>
      command.writeStdin(data, { signal }).then(
        () => done.push(name),
        (error: unknown) => done.push(`${name} ${(error as SandboxError).code} ${(error as SandboxError).effect}`),
      );
    const calls = [
      write(Buffer.from('1'), 'a'),
      write(new Uint8Array(100_000), 'b'),
      write(new Uint8Array(), 'c'),
      write(new Uint8Array(5), 'd', over.signal),
      write(new Uint8Array(100_000), 'e'),
      write(new Uint8Array(100_000), 'f'),
      command.closeStdin(),
    ];
    over.abort();
    await turn();
    channel.answer();
    await turn();
    channel.answer();
    await turn();
    expect(channel.calls).toEqual(['write 1', 'write 200000', 'write 100000']);
    channel.answer(new SandboxError('write_failed', { effect: 'none' }));
    await turn();
    channel.answer();
    await Promise.all(calls);
    expect(done).toEqual(['d aborted none', 'a', 'b', 'c', 'e', 'f write_failed none']);
    expect(channel.calls).toEqual(['write 1', 'write 200000', 'write 100000', 'close']);
  });

  test('a write that is refused after a part of it was taken does not claim that nothing was done', async () => {
    const { command, channel } = setUp();
    channel.holds = true;
    const refusal = new SandboxError('command_exited', { effect: 'none' });
    const whole = command.writeStdin(new Uint8Array(300 * 1024));
    await turn();
    channel.answer();
    await turn();
    channel.answer(refusal);
    expect(await failureOf(whole)).toMatchObject({ code: 'command_exited', effect: 'unknown' });
    const small = command.writeStdin('x');
    await turn();
    channel.answer(refusal);
    expect(await failureOf(small)).toMatchObject({ code: 'command_exited', effect: 'none' });
  });

  test('a failed write leaves those after it to be tried', async () => {
    const { command, channel } = setUp();
    channel.holds = true;
    const [first, second] = [command.writeStdin('1'), command.writeStdin('2')];
    await turn();
    channel.answer(new SandboxError('write_failed'));
    expect(await failureOf(first)).toMatchObject({ code: 'write_failed', operation: 'writeStdin', provider: 'fake' });
    await turn();
    channel.answer();
    await second;
  });

  const refusals: [string, { stdin?: boolean }, (command: SandboxCommand, s: CommandStream) => unknown, object][] = [
    ['not open', { stdin: false }, () => {}, { code: 'invalid', detail: 'stdin_not_open' }],
    ['closed', {}, (command) => command.closeStdin(), { code: 'invalid', detail: 'stdin_closed' }],
    ['exited', {}, (_, stream) => stream.frame(EXIT), { code: 'command_exited' }],
    ['exited, not open', { stdin: false }, (_, stream) => stream.frame(EXIT), { code: 'command_exited' }],
    ['lost', {}, (_, stream) => stream.error(LOST), { code: 'unavailable', detail: 'runner_disconnected' }],
    ['stopped', {}, (command) => command.stop(), DETACHED],
  ];
  for (const [state, options, prepare, refusal] of refusals) {
    test(`a write is refused with effect none when ${state}`, async () => {
      const { command, stream, channel } = setUp(options);
      await prepare(command, stream);
      channel.calls.length = 0;
      expect(await failureOf(command.writeStdin('x'))).toMatchObject({
        ...refusal,
        effect: 'none',
        operation: 'writeStdin',
        provider: 'fake',
      });
      expect(channel.calls).toEqual([]);
    });
  }

  test('an option that does not exist is refused by writes and by closing', async () => {
    const { command, channel } = setUp();
    const options = { timeoutMs: 5 } as never;
    const refused = { code: 'invalid', detail: 'argument', effect: 'none', provider: 'fake' };
    const [write, close] = [command.writeStdin('x', options), command.closeStdin(options)];
    expect(await failureOf(write)).toMatchObject({ ...refused, operation: 'writeStdin' });
    expect(await failureOf(close)).toMatchObject({ ...refused, operation: 'closeStdin' });
    expect(channel.calls).toEqual([]);
  });

  test('exit rejects pending writes with command_exited, though the channel never answers', async () => {
    const { command, channel, stream } = setUp();
    channel.holds = true;
    const sent = command.writeStdin('1');
    const waiting = command.writeStdin('2');
    const close = command.closeStdin();
    await turn();
    stream.frame(EXIT);
    expect(await failureOf(sent)).toMatchObject({ code: 'command_exited', effect: 'unknown' });
    expect(await failureOf(waiting)).toMatchObject({ code: 'command_exited', effect: 'none' });
    await close;
    expect(channel.calls).toEqual(['write 1']);
  });

  test('a write that was answered together with the exit has succeeded', async () => {
    const { command, channel, stream } = setUp();
    channel.holds = true;
    const write = command.writeStdin('1');
    await turn();
    channel.answer();
    stream.frame(EXIT);
    await expect(write).resolves.toBeUndefined();
  });

  test('a lost connection rejects pending writes with its own error', async () => {
    const { command, channel, stream } = setUp();
    channel.holds = true;
    const [sent, close] = [command.writeStdin('1'), command.closeStdin()];
    await turn();
    stream.error(LOST);
    const lost = { code: 'unavailable', detail: 'runner_disconnected' };
    expect(await failureOf(sent)).toMatchObject({ ...lost, effect: 'unknown' });
    expect(await failureOf(close)).toMatchObject({ ...lost, effect: 'none' });
  });

  test('closing twice, and after the exit, succeeds with one request', async () => {
    const { command, channel, stream } = setUp();
    await Promise.all([command.closeStdin(), command.closeStdin()]);
    await command.closeStdin();
    stream.frame(EXIT);
    await command.closeStdin();
    expect(channel.calls).toEqual(['close']);
  });

  test('a close that failed can be tried again', async () => {
    const { command, channel } = setUp();
    channel.failure = new SandboxError('unavailable', { detail: 'runner_timeout' });
    expect(await failureOf(command.closeStdin())).toMatchObject({ detail: 'runner_timeout', operation: 'closeStdin' });
    channel.failure = undefined;
    await command.closeStdin();
    expect(channel.calls).toEqual(['close', 'close']);
  });

  test('an aborted write is not sent when it waits, and unknown when it was sent', async () => {
    const { command, channel } = setUp();
    channel.holds = true;
    const abort = new AbortController();
    const options = { signal: abort.signal };
    const [sent, waiting] = [command.writeStdin('1', options), command.writeStdin('2', options)];
    await turn();
    abort.abort('enough');
    expect(await failureOf(sent)).toMatchObject({ code: 'aborted', effect: 'unknown', cause: 'enough' });
    expect(await failureOf(waiting)).toMatchObject({ code: 'aborted', effect: 'none', cause: 'enough' });
    expect(await failureOf(command.writeStdin('3', options))).toMatchObject({ code: 'aborted', effect: 'none' });
    channel.answer();
    await turn();
    expect(channel.calls).toEqual(['write 1']);
  });

  test('an aborted write sends no further piece, an aborted close that waits nothing', async () => {
    const { command, channel } = setUp();
    channel.holds = true;
    const abort = new AbortController();
    const options = { signal: abort.signal };
    const calls = [command.writeStdin(new Uint8Array(600 * 1024), options), command.closeStdin(options)];
    await turn();
    abort.abort();
    expect(await Promise.all(calls.map(failureOf))).toMatchObject([
      { code: 'aborted', effect: 'unknown' },
      { code: 'aborted', effect: 'none' },
    ]);
    channel.answer();
    await turn();
    expect(channel.calls).toEqual(['write 262144']);
  });

  test.each([[undefined], [5], [{}], ['\ud800']])('data %p is invalid', async (data) => {
    const { command, channel } = setUp();
    expect(await failureOf(command.writeStdin(data as never))).toMatchObject({ code: 'invalid', detail: 'argument' });
    expect(channel.calls).toEqual([]);
  });
});

describe('the stdin Writable', () => {
  test('is absent while stdin was not opened, and always the same otherwise', () => {
    expect(setUp({ stdin: false }).command.stdin).toBeUndefined();
    const { command } = setUp();
    expect(command.stdin).toBe(command.stdin);
  });

  test('writes in order with back-pressure, and end closes', async () => {
    const { command, channel } = setUp();
    channel.holds = true;
    const stdin = command.stdin as NonNullable<typeof command.stdin>;
    expect(stdin.write('a')).toBe(true);
    stdin.write('b');
    stdin.write('c');
    expect(stdin.write(Buffer.alloc(256 * 1024 - 2))).toBe(false);
    const finished = new Promise<void>((resolve) => stdin.end(resolve));
    await turn();
    expect(channel.calls).toEqual(['write a']);
    channel.holds = false;
    channel.answer();
    await finished;
    expect(channel.calls).toEqual(['write a', 'write 262144', 'close']);
  });

  test('an error reaches those who listen, with the code of the command', async () => {
    const { command, stream, channel } = setUp();
    channel.holds = true;
    const failure = new Promise((resolve) => command.stdin?.on('error', resolve));
    command.stdin?.write('a');
    await turn();
    stream.frame(EXIT);
    expect(await failure).toMatchObject({ code: 'command_exited', effect: 'unknown' });
  });

  test('an error that nobody listens to is no uncaught exception', async () => {
    const { command, channel } = setUp();
    channel.failure = new SandboxError('write_failed');
    command.stdin?.write('a');
    command.stdin?.write('b');
    await turn();
    await turn();
    expect(command.stdin?.errored).toMatchObject({ code: 'write_failed' });
  });

  test('the exit closes it without an error when nothing was being written', async () => {
    const { command, stream } = setUp();
    const errors: unknown[] = [];
    command.stdin?.on('error', (error) => errors.push(error));
    const closed = new Promise((resolve) => command.stdin?.on('close', () => resolve('closed')));
    stream.frame(EXIT);
    expect(await closed).toBe('closed');
    expect(errors).toEqual([]);
  });

  test('a lost connection is its error', async () => {
    const { command, stream } = setUp();
    const failure = new Promise((resolve) => command.stdin?.on('error', resolve));
    stream.error(LOST);
    expect(await failure).toMatchObject(NAMED_LOST);
  });

  test('destroying it before end closes stdin', async () => {
    const { command, channel } = setUp();
    command.stdin?.write('a');
    await turn();
    command.stdin?.destroy();
    await turn();
    expect(channel.calls).toEqual(['write a', 'close']);
  });
});

describe('resize', () => {
  const size = { cols: 120, rows: 40 };

  test('is passed on with a terminal and does nothing after the exit', async () => {
    const { command, channel, stream } = setUp({ tty: true });
    await command.resize(size);
    stream.frame(EXIT);
    await command.resize(size);
    expect(channel.calls).toEqual(['resize 120x40']);
  });

  test('does nothing when the exit overtakes it', async () => {
    const { command, channel } = setUp({ tty: true });
    channel.failure = new SandboxError('command_exited');
    await command.resize(size);
    expect(channel.calls).toEqual(['resize 120x40']);
  });

  test('is refused without a terminal, after stop, and for a size that is none', async () => {
    const { command } = setUp();
    expect(await failureOf(command.resize(size))).toMatchObject({ code: 'not_supported', operation: 'resize' });
    expect(await failureOf(command.resize({ cols: 0, rows: 1 }))).toMatchObject({ code: 'invalid' });
    await command.stop();
    expect(await failureOf(command.resize(size))).toMatchObject({ ...DETACHED, effect: 'none' });
  });
});

describe('errors of the output', () => {
  const lost = new SandboxError('unavailable', { detail: 'closed_before_exit' });

  test.each([
    [undefined, 1],
    ['spawn', 1],
    ['attach', 3],
  ] as const)('of a command that %s gave name it, so that it is tried %s times', async (operation, attempts) => {
    let made = 0;
    const work = async () => {
      made++;
      const stream = new CommandStream();
      stream.error(lost);
      const channel = new RecordingChannel();
      const handle = sandboxHandle('fake', 'box');
      const source = { provider: 'fake', ...(operation && { operation }) };
      const command = new StreamingCommand({ ...source, handle, stream, channel, stdin: false, tty: false });
      const named = { detail: 'closed_before_exit', provider: 'fake', operation: operation ?? 'spawn' };
      await expect(command.exit).rejects.toMatchObject(named);
      await command.drain();
    };
    const error = await failureOf(withBackoff(work, { baseMs: 0 }));
    expect(error).toMatchObject({ provider: 'fake', operation: operation ?? 'spawn', effect: 'unknown' });
    expect(made).toBe(attempts);
  });

  test('that come later, or from this end, name it too', async () => {
    const named = { provider: 'fake', operation: 'spawn' };
    const { stream, command } = setUp();
    const frames = all(command);
    stream.error(lost);
    expect(await failureOf(frames)).toMatchObject({ ...named, detail: 'closed_before_exit' });
    expect(await failureOf(command.exit)).toMatchObject({ ...named, detail: 'closed_before_exit' });
    expect(await failureOf(command.drain())).toMatchObject({ ...named, detail: 'already_consumed' });
    const refused = setUp();
    refused.stream.error(new SandboxError('unavailable', { effect: 'none' }));
    expect(await failureOf(refused.command.drain())).toMatchObject({ ...named, effect: 'unknown' });
    const left = setUp();
    await left.command.stop();
    expect(await failureOf(left.command.exit)).toMatchObject({ ...named, ...DETACHED });
  });
});
