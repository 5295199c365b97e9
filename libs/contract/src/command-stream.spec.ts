import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { CommandStream } from './command-stream.js';
import type { Exit, OutputFrame, SandboxFrame } from './frames.js';
import { SandboxError } from './sandbox-error.js';

const EXIT: SandboxFrame = { type: 'exit', exitCode: 3, signal: 'SIGTERM' };
const LOST = new SandboxError('unavailable', { detail: 'runner_disconnected' });
const DETACHED = { code: 'unavailable', detail: 'detached', effect: 'none' };

function stdout(text: string): OutputFrame {
  return { type: 'stdout', data: Buffer.from(text), offset: 0 };
}

describe('delivery', () => {
  test('an exit is what the contract says of one, whatever else its producer knows', async () => {
    const stream = new CommandStream();
    stream.frame({ type: 'exit', exitCode: 3, stoppedBy: 'timeout', gone: true } as SandboxFrame);
    expect(await stream.exit).toEqual({ exitCode: 3 });
    expect(stream.claim().read()).toEqual({ type: 'exit', exitCode: 3 });
  });

  test('keeps what came before the claim, in order', async () => {
    const stream = new CommandStream();
    stream.frame(stdout('a'));
    stream.frame(stdout('bc'));
    stream.frame(EXIT);
    const reader = stream.claim();
    expect(reader.read()).toEqual(stdout('a'));
    expect(await reader.next()).toEqual(stdout('bc'));
    expect(await reader.next()).toEqual(EXIT);
    expect(reader.read()).toBeUndefined();
  });

  test('joins tiny pieces once many wait, so that any number holds little but its bytes', () => {
    const taken: number[] = [];
    const stream = new CommandStream((bytes) => taken.push(bytes));
    const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, at) => at % 251));
    for (let at = 0; at < bytes.length; at += 1) {
      const data = bytes.subarray(at, at + 1);
      stream.frame({ type: 'stdout', data, offset: at });
      stream.frame({ type: 'stderr', data, offset: at });
    }
    stream.frame(EXIT);
    expect([stream.queuedBytes, stream.outputBytes]).toEqual([400_000, 400_000]);
    const reader = stream.claim();
    const at = { stdout: 0, stderr: 0 };
    let frames = 0;
    let item = reader.read();
    for (; item?.type === 'stdout' || item?.type === 'stderr'; item = reader.read()) {
      const { type, data, offset } = item;
      expect(offset).toBe(at[type]);
      expect(Buffer.compare(data, bytes.subarray(offset, offset + data.byteLength))).toBe(0);
      at[type] += data.byteLength;
      frames += 1;
      reader.taken(item);
    }
    expect([at, item]).toEqual([{ stdout: 200_000, stderr: 200_000 }, EXIT]);
    expect(frames).toBeLessThan(1100);
    expect([stream.queuedBytes, taken.reduce((sum, one) => sum + one, 0)]).toEqual([0, 400_000]);
  });

  test('changes no frame that was read, and joins nothing over a gap', () => {
    const stream = new CommandStream();
    const write = (text: string, offset: number): void =>
      stream.frame({ type: 'stdout', data: Buffer.from(text), offset });
    for (let at = 0; at < 1024; at += 1) write('a', at);
    write('b', 1024);
    write('c', 1025);
    write('g', 2000);
    const reader = stream.claim();
    for (let at = 0; at < 1024; at += 1) reader.read();
    const joined = reader.read();
    expect(joined).toEqual({ type: 'stdout', data: Buffer.from('bc'), offset: 1024 });
    for (let at = 0; at < 2000; at += 1) write('d', 2001 + at);
    expect(joined).toEqual({ type: 'stdout', data: Buffer.from('bc'), offset: 1024 });
    expect(reader.read()).toEqual({ type: 'stdout', data: Buffer.from('g'), offset: 2000 });
  });

  test('wakes a waiting reader', async () => {
    const stream = new CommandStream();
    const next = stream.claim().next();
    stream.frame(stdout('late'));
    expect(await next).toEqual(stdout('late'));
  });

  test('calls back after every arrival, inside the call of the producer', () => {
    const stream = new CommandStream();
    const reader = stream.claim();
    const seen: unknown[] = [];
    reader.onReadable(() => seen.push(reader.read()));
    stream.frame(stdout('a'));
    stream.error(LOST);
    expect(seen).toEqual([stdout('a'), { type: 'error', error: LOST }]);
  });

  test('gives what came before an error first', () => {
    const stream = new CommandStream();
    stream.frame(stdout('a'));
    stream.error(LOST);
    const reader = stream.claim();
    expect([reader.read(), reader.read(), reader.read()]).toEqual([
      stdout('a'),
      { type: 'error', error: LOST },
      undefined,
    ]);
  });

  test('does not deliver a frame without bytes', () => {
    const stream = new CommandStream();
    stream.frame(stdout(''));
    expect(stream.claim().read()).toBeUndefined();
  });
});

describe('the first end counts', () => {
  const ends: [string, (stream: CommandStream) => void][] = [
    ['an exit', (stream) => stream.frame(EXIT)],
    ['an error', (stream) => stream.error(LOST)],
    ['detach', (stream) => stream.detach()],
  ];
  for (const [name, end] of ends) {
    test(`what is delivered after ${name} is ignored`, async () => {
      const stream = new CommandStream();
      end(stream);
      const first = await stream.exit.catch((error: unknown) => error);
      stream.frame(stdout('x'));
      stream.frame({ type: 'exit', exitCode: 0 });
      stream.error(new SandboxError('provider'));
      const reader = stream.claim();
      const item = reader.read();
      expect(item?.type).toBe(name === 'an exit' ? 'exit' : 'error');
      expect(reader.read()).toBeUndefined();
      expect(await stream.exit.catch((error: unknown) => error)).toBe(first);
      expect(stream.end).toBe(first);
      expect(stream.queuedBytes).toBe(0);
    });
  }
});

describe('exit', () => {
  test('settles on arrival, before anything was read, and claims nothing', async () => {
    const stream = new CommandStream();
    stream.frame(stdout('unread'));
    stream.frame(EXIT);
    const exit: Exit = { exitCode: 3, signal: 'SIGTERM' };
    expect(await stream.exit).toEqual(exit);
    expect(stream.end).toEqual(exit);
    expect(stream.claim().read()).toEqual(stdout('unread'));
  });

  test('rejects with the error itself, and is no unhandled rejection', async () => {
    const unhandled: unknown[] = [];
    const record = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', record);
    const stream = new CommandStream();
    stream.error(LOST);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', record);
    expect(unhandled).toEqual([]);
    await expect(stream.exit).rejects.toBe(LOST);
  });
});

describe('credit', () => {
  test('counts what was delivered and not taken, and reports what was taken', () => {
    const taken: number[] = [];
    const stream = new CommandStream((bytes) => taken.push(bytes));
    stream.frame(stdout('abc'));
    stream.frame(stdout('de'));
    expect(stream.queuedBytes).toBe(5);
    const reader = stream.claim();
    reader.read();
    expect([stream.queuedBytes, taken]).toEqual([5, []]);
    reader.taken(stdout('abc'));
    expect([stream.queuedBytes, taken]).toEqual([2, [3]]);
    expect(stream.outputBytes).toBe(5);
  });

  test('taken before anyone is connected is reported on connect', () => {
    const stream = new CommandStream();
    stream.frame(stdout('abc'));
    const reader = stream.claim();
    reader.read();
    reader.taken(stdout('abc'));
    const taken: number[] = [];
    stream.connect((bytes) => taken.push(bytes));
    expect(taken).toEqual([3]);
    stream.connect((bytes) => taken.push(bytes));
    expect(taken).toEqual([3]);
  });

  test('detach gives back what waits and what the reader holds, once', () => {
    const taken: number[] = [];
    const stream = new CommandStream((bytes) => taken.push(bytes));
    const reader = stream.claim();
    stream.frame(stdout('held'));
    stream.frame(stdout('waiting'));
    reader.read();
    stream.detach();
    stream.detach();
    reader.taken(stdout('held'));
    expect(taken).toEqual([11]);
    expect(stream.queuedBytes).toBe(0);
  });
});

describe('detach', () => {
  test('ends exit and a waiting reader with unavailable / detached and drops what is queued', async () => {
    const stream = new CommandStream();
    const reader = stream.claim();
    const waiting = reader.next();
    stream.detach();
    expect(await waiting).toMatchObject({ type: 'error', error: DETACHED });
    await expect(stream.exit).rejects.toMatchObject(DETACHED);
    const other = new CommandStream();
    other.frame(stdout('dropped'));
    other.detach();
    expect(other.claim().read()).toMatchObject({ type: 'error', error: DETACHED });
  });

  test('after the exit had come: exit stays, the reader loses the rest', async () => {
    const stream = new CommandStream();
    stream.frame(stdout('dropped'));
    stream.frame(EXIT);
    stream.detach();
    expect(await stream.exit).toEqual({ exitCode: 3, signal: 'SIGTERM' });
    expect(stream.claim().read()).toMatchObject({ type: 'error', error: DETACHED });
  });
});

test('a second claim is invalid / already_consumed', () => {
  const stream = new CommandStream();
  stream.claim();
  let refusal: unknown;
  try {
    stream.claim();
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toMatchObject({ code: 'invalid', detail: 'already_consumed', effect: 'none' });
});

test('inspect shows no output', () => {
  const stream = new CommandStream();
  stream.frame(stdout('hunter2'));
  const shown = inspect([stream, stream.claim()], { depth: 10, showHidden: true });
  expect(shown).not.toContain(Buffer.from('hunter2').toString('hex').slice(0, 4));
  expect(shown).not.toContain('68 75 6e');
  expect(shown).not.toContain('hunter2');
});
