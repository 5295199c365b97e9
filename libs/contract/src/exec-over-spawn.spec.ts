import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { ByteSource } from './bytes.js';
import type { SandboxCommand } from './command.js';
import { CommandStream } from './command-stream.js';
import { collectExec, type CollectExecOptions } from './exec-over-spawn.js';
import type { OutputFrame, SandboxFrame } from './frames.js';
import { sandboxHandle } from './handle.js';
import { SandboxError } from './sandbox-error.js';
import { StreamingCommand } from './streaming-command.js';

// Time is manual; promises, ticks and immediates are real.
beforeEach(() => void jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] }));
afterEach(() => void jest.useRealTimers());

const EXIT: SandboxFrame = { type: 'exit', exitCode: 3 };
const LOST = new SandboxError('unavailable', { detail: 'closed_before_exit', effect: 'unknown' });
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function output(text: string, type: 'stdout' | 'stderr' = 'stdout'): OutputFrame {
  return { type, data: Buffer.from(text), offset: 0 };
}

/** A command under the test's control: it ends when the test delivers its end. */
function setUp(given: Partial<CollectExecOptions> = {}) {
  const stream = new CommandStream();
  const stdin: string[] = [];
  const writes = { failure: undefined as unknown, holds: false };
  const detached = { count: 0 };
  const command = new StreamingCommand({
    provider: 'fake',
    handle: sandboxHandle('fake', 'box'),
    stream,
    stdin: true,
    tty: false,
    channel: {
      taken: () => {},
      write: async (data) => {
        if (writes.failure !== undefined) throw writes.failure;
        stdin.push(Buffer.from(data).toString());
        if (writes.holds) await new Promise(() => {});
      },
      closeStdin: async () => void stdin.push('EOF'),
      stop: async () => void (detached.count += 1),
    },
  });
  const stops: SandboxCommand[] = [];
  const options: CollectExecOptions = {
    maxOutputBytes: 10,
    stop: async (stopped) => {
      stops.push(stopped);
      return { confirmed: true };
    },
    ...given,
  };
  return { stream, stdin, writes, detached, stops, command, options };
}

async function settled(promise: Promise<unknown>): Promise<unknown> {
  return promise.catch((error: unknown) => error);
}

describe('the result', () => {
  test('keeps the streams apart and has the measured exit', async () => {
    const { stream, command, options, stops, detached } = setUp();
    const result = collectExec(command, options);
    for (const frame of [output('a'), output('x', 'stderr'), output('b')]) stream.frame(frame);
    stream.frame({ type: 'exit', exitCode: 143, signal: 'SIGTERM' });
    expect(await result).toMatchObject({
      exitCode: 143,
      signal: 'SIGTERM',
      output: Buffer.from('ab'),
      stderr: Buffer.from('x'),
    });
    expect((await result).text()).toBe('ab');
    expect([stops.length, detached.count, jest.getTimerCount()]).toEqual([0, 0, 0]);
  });

  test('with stderrToStdout holds both as they arrive and no stderr', async () => {
    const { stream, command, options } = setUp({ stderrToStdout: true });
    for (const frame of [output('a'), output('x', 'stderr'), output('b'), EXIT]) stream.frame(frame);
    const result = await collectExec(command, options);
    expect(result.text()).toBe('axb');
    expect('stderr' in result).toBe(false);
  });

  test('may have exactly as many bytes as the limit', async () => {
    const { stream, command, options } = setUp();
    for (const frame of [output('12345'), output('67890', 'stderr'), EXIT]) stream.frame(frame);
    expect(await collectExec(command, options)).toMatchObject({ exitCode: 3 });
  });

  test('leaves no timer and no listener behind', async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    const { stream, command, options } = setUp({ timeoutMs: 60_000, signal });
    stream.frame(EXIT);
    await collectExec(command, options);
    expect([listeners, jest.getTimerCount()]).toEqual([0, 0]);
  });
});

describe('what ends it early', () => {
  const LIMIT = { code: 'truncated', detail: 'output_limit' };
  const TIMEOUT = { code: 'unavailable', detail: 'timeout' };

  test('one byte beyond the limit stops the process', async () => {
    const { stream, command, options, stops, detached } = setUp();
    const result = settled(collectExec(command, options));
    stream.frame(output('123456'));
    stream.frame(output('78901', 'stderr'));
    expect(await result).toMatchObject({ ...LIMIT, effect: 'done' });
    expect(stops).toEqual([command]);
    await turn();
    expect([detached.count, jest.getTimerCount()]).toEqual([1, 0]);
  });

  test('output beyond the limit is read on and dropped while the process is being stopped', async () => {
    let confirm: (answer: { confirmed: boolean }) => void = () => {};
    const { stream, command, options } = setUp({ stop: () => new Promise((resolve) => (confirm = resolve)) });
    const result = settled(collectExec(command, options));
    for (let i = 0; i < 100; i += 1) stream.frame(output('12345678'));
    await turn();
    expect(stream.queuedBytes).toBe(0);
    stream.frame(EXIT);
    confirm({ confirmed: true });
    expect(await result).toMatchObject({ ...LIMIT, effect: 'done' });
  });

  test('the deadline, and not a millisecond before', async () => {
    const { command, options, stops } = setUp({ timeoutMs: 500 });
    const result = settled(collectExec(command, options));
    await jest.advanceTimersByTimeAsync(499);
    expect(stops).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(await result).toMatchObject({ ...TIMEOUT, effect: 'done', message: 'the command ran longer than 500 ms' });
    expect(stops).toEqual([command]);
  });

  test('the deadline counts from the start of the call', async () => {
    const startedAtMs = performance.now();
    await jest.advanceTimersByTimeAsync(400);
    const { command, options, stops } = setUp({ timeoutMs: 500, startedAtMs });
    const result = settled(collectExec(command, options));
    await jest.advanceTimersByTimeAsync(100);
    expect(await result).toMatchObject(TIMEOUT);
    expect(stops).toEqual([command]);
  });

  test('an exit that came before the deadline is a result', async () => {
    const { stream, command, options } = setUp({ timeoutMs: 500 });
    const result = collectExec(command, options);
    await jest.advanceTimersByTimeAsync(499);
    stream.frame(EXIT);
    expect(await result).toMatchObject({ exitCode: 3 });
  });

  test.each([
    ['is not confirmed', async () => ({ confirmed: false })],
    ['fails', async () => Promise.reject(LOST)],
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
  ])('effect is unknown when the stop %s', async (_, stop) => {
    const { command, options } = setUp({ timeoutMs: 1, stop });
    const result = settled(collectExec(command, options));
    await jest.advanceTimersByTimeAsync(1);
    expect(await result).toMatchObject({ ...TIMEOUT, effect: 'unknown' });
  });

  test('rejects 5 s after the deadline when the stop hangs, and lets go of the command', async () => {
    const { command, options, detached } = setUp({ timeoutMs: 100, stop: () => new Promise(() => {}) });
    let done = false;
    const result = settled(collectExec(command, options)).finally(() => (done = true));
    await jest.advanceTimersByTimeAsync(5_099);
    expect(done).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect(await result).toMatchObject({ ...TIMEOUT, effect: 'unknown' });
    expect(detached.count).toBe(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  test('a signal, before and while it runs', async () => {
    for (const early of [true, false]) {
      const abort = new AbortController();
      const { command, options, stops } = setUp({ signal: abort.signal });
      if (early) abort.abort('why');
      const result = settled(collectExec(command, options));
      await turn();
      abort.abort('why');
      expect(await result).toMatchObject({ code: 'aborted', cause: 'why', effect: 'done' });
      expect(stops).toEqual([command]);
    }
  });

  test('output that ends without an exit', async () => {
    const { stream, command, options, stops } = setUp({ stop: async () => ({ confirmed: false }) });
    const result = settled(collectExec(command, options));
    stream.frame(output('a'));
    stream.error(LOST);
    expect(await result).toMatchObject({ code: 'unavailable', detail: 'closed_before_exit', effect: 'unknown' });
    expect(stops).toEqual([]);
  });
});

describe('a command that is still starting', () => {
  test('is waited for; what keeps it from starting is passed on as it is', async () => {
    const { stream, command, options, stops } = setUp();
    stream.frame(EXIT);
    expect(await collectExec(Promise.resolve(command), options)).toMatchObject({ exitCode: 3 });
    const refusal = new SandboxError('not_found');
    expect(await settled(collectExec(Promise.reject(refusal), options))).toBe(refusal);
    expect(stops).toEqual([]);
  });

  test('beyond the deadline is stopped as soon as it has started, however late', async () => {
    let start: (command: SandboxCommand) => void = () => {};
    const { command, options, stops, detached } = setUp({ timeoutMs: 100 });
    const result = settled(collectExec(new Promise<SandboxCommand>((resolve) => (start = resolve)), options));
    await jest.advanceTimersByTimeAsync(5_100);
    expect(await result).toMatchObject({ code: 'unavailable', detail: 'timeout', effect: 'unknown' });
    expect(stops).toEqual([]);
    start(command);
    await turn();
    expect(stops).toEqual([command]);
    expect(detached.count).toBe(1);
  });
});

describe('stdin', () => {
  async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
    for (const text of texts) yield Buffer.from(text);
  }

  test.each<[string, () => ByteSource, string[]]>([
    ['whole', () => Buffer.from('abc'), ['abc', 'EOF']],
    ['in pieces', () => pieces('a', 'bc'), ['a', 'bc', 'EOF']],
    ['empty', () => pieces(), ['EOF']],
  ])('%s is written, then closed', async (_, content, written) => {
    const { stream, command, options, stdin } = setUp({ stdin: content() });
    const result = collectExec(command, options);
    await turn();
    stream.frame(EXIT);
    expect(await result).toMatchObject({ exitCode: 3 });
    expect(stdin).toEqual(written);
  });

  test('is not touched when there is none', async () => {
    const { stream, command, options, stdin } = setUp();
    stream.frame(EXIT);
    await collectExec(command, options);
    expect(stdin).toEqual([]);
  });

  test('is written piece by piece as the pipe takes it, while output is read', async () => {
    const { stream, command, options, stdin, writes } = setUp({ stdin: pieces('a', 'b') });
    writes.holds = true;
    const result = collectExec(command, options);
    await turn();
    stream.frame(output('out'));
    await turn();
    expect([stdin, stream.queuedBytes]).toEqual([['a'], 0]);
    stream.frame(EXIT);
    expect(await result).toMatchObject({ exitCode: 3, output: Buffer.from('out') });
  });

  test.each(['command_exited', 'write_failed'] as const)(
    'that the process does not read (%s) is no error, and the source is let go',
    async (code) => {
      let released = false;
      const endless = (async function* () {
        try {
          for (;;) yield Buffer.from('a');
        } finally {
          released = true;
        }
      })();
      const { stream, command, options, writes, stops } = setUp({ stdin: endless });
      writes.failure = new SandboxError(code);
      const result = collectExec(command, options);
      await turn();
      stream.frame(EXIT);
      expect(await result).toMatchObject({ exitCode: 3 });
      expect([released, stops.length]).toEqual([true, 0]);
    },
  );

  test('a source that hangs does not keep the result back, and is let go', async () => {
    let released = false;
    const hanging: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise(() => {}),
        return: async () => {
          released = true;
          return { done: true, value: undefined };
        },
      }),
    };
    const { stream, command, options } = setUp({ stdin: hanging });
    const result = collectExec(command, options);
    await turn();
    stream.frame(EXIT);
    expect(await result).toMatchObject({ exitCode: 3 });
    await turn();
    expect(released).toBe(true);
  });

  test('a source that fails stops the process instead of giving it a shorter input', async () => {
    const failure = new Error('disk');
    const failing = (async function* () {
      yield Buffer.from('a');
      throw failure;
    })();
    const { command, options, stdin, stops } = setUp({ stdin: failing });
    expect(await settled(collectExec(command, options))).toMatchObject({
      code: 'invalid',
      detail: 'argument',
      message: 'stdin: its source failed',
      cause: failure,
      effect: 'done',
    });
    expect([stdin, stops]).toEqual([['a'], [command]]);
  });

  test('a write that may be lost stops the process', async () => {
    const { command, options, writes, stops } = setUp({ stdin: Buffer.from('abc') });
    writes.failure = new SandboxError('unavailable', { detail: 'runner_timeout' });
    expect(await settled(collectExec(command, options))).toMatchObject({ detail: 'runner_timeout', effect: 'done' });
    expect(stops).toEqual([command]);
  });
});
