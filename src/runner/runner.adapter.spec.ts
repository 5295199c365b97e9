import { describe, expect, test } from '@jest/globals';
import { SandboxError, type SandboxErrorInit, type SandboxErrorCode } from '#libs/contract';
import {
  PROTOCOL_LIMITS,
  type OpenOptions,
  type RequestOptions,
  type RunnerLink,
  type RunnerSession,
  type SessionSink,
} from '#libs/protocol';
import { LocalRunnerHost } from './local-runner-host.js';
import { RunnerAdapter } from './runner.adapter.js';

const ID = '0123abcd-4567-89ef-0123-456789abcdef';
const OTHER = 'fedcba98-7654-3210-fedc-ba9876543210';
const NAME = 'runner-0123abcd456789ef0123456789abcdef-00000001';
const OTHERS = 'runner-fedcba9876543210fedcba9876543210-00000001';

type Reply = object | Error | ((body: Record<string, unknown>) => unknown);

/** A link that answers each operation as it is told and records what it was asked. */
class ScriptedLink implements RunnerLink {
  readonly capabilities = new Set<string>();
  readonly instance?: string;
  readonly asked: [op: string, body: unknown, options: OpenOptions | undefined][] = [];
  readonly sinks: SessionSink[] = [];
  readonly session: string[] = [];

  constructor(
    readonly runnerId: string,
    readonly replies: Record<string, Reply> = {},
    instance: string | undefined = 'i-1',
  ) {
    if (instance !== undefined) this.instance = instance;
  }

  async request(op: string, body: object, options?: OpenOptions): Promise<never> {
    this.asked.push([op, body, options]);
    const reply = this.replies[op] ?? {};
    if (reply instanceof Error) throw reply;
    return (typeof reply === 'function' ? await reply(body as Record<string, unknown>) : reply) as never;
  }

  async open(op: string, body: object, sink: SessionSink, options?: OpenOptions): Promise<RunnerSession> {
    await this.request(op, body, options);
    this.sinks.push(sink);
    return {
      sessionId: 's-1',
      taken: (bytes) => this.session.push(`taken ${bytes}`),
      write: async (data) => void this.session.push(`write ${Buffer.from(data).toString()}`),
      closeStdin: async () => void this.session.push('close'),
      stop: async () => void this.session.push('stop'),
      unsubscribe: () => this.session.push('unsubscribe'),
    };
  }

  async probe(): Promise<boolean> {
    return true;
  }

  close(): void {}
}

interface Fixture {
  readonly host: LocalRunnerHost;
  readonly link: ScriptedLink;
  readonly adapter: RunnerAdapter;
}

async function fixture(replies?: Record<string, Reply>, instance?: string | null): Promise<Fixture> {
  const host = new LocalRunnerHost();
  const link = new ScriptedLink(ID, replies, instance === null ? undefined : (instance ?? 'i-1'));
  if (instance === null) Object.assign(link, { instance: undefined });
  await host.register(ID, link, undefined);
  return { host, link, adapter: new RunnerAdapter(host) };
}

const failure = (code: SandboxErrorCode, init: SandboxErrorInit = {}): SandboxError => new SandboxError(code, init);
const handle = { provider: 'runner', name: NAME };

describe('RunnerAdapter', () => {
  test('promises suspend and attach', async () => {
    const { adapter } = await fixture();
    expect([...adapter.capabilities]).toEqual(['suspend', 'attach']);
  });

  test.each(['createNew', 'terminateSession', 'applyNetworkPolicy', 'publicUrl', 'readFile'] as const)(
    'refuses %s before anything is asked',
    async (operation) => {
      const { adapter, link } = await fixture();
      const call: Promise<unknown> = {
        createNew: () => adapter.createNew(NAME),
        terminateSession: () => adapter.terminateSession(handle, 's-1'),
        applyNetworkPolicy: () => adapter.applyNetworkPolicy(handle, { allow: [] }),
        publicUrl: () => adapter.publicUrl(handle, { port: 80 }),
        readFile: () => adapter.readFile(handle, 'x'),
      }[operation]();
      await expect(call).rejects.toMatchObject({
        code: 'not_supported',
        effect: 'none',
        provider: 'runner',
        operation,
      });
      expect(link.asked).toEqual([]);
    },
  );

  test('without a host says what to import, in every call', async () => {
    const adapter = new RunnerAdapter();
    const expected = {
      code: 'not_supported',
      effect: 'none',
      message: expect.stringContaining('RunnerModule.forRoot()'),
    };
    await expect(adapter.create(NAME)).rejects.toMatchObject(expected);
    await expect(adapter.exec(handle, 'true')).rejects.toMatchObject(expected);
    await expect(adapter.listAllNames()).rejects.toMatchObject(expected);
  });

  test('creates by name', async () => {
    const { adapter, link } = await fixture();
    await expect(adapter.create(NAME)).resolves.toEqual(handle);
    expect(link.asked.map(([op, body]) => [op, body])).toEqual([['create', { name: NAME }]]);
  });

  test.each(['sprite-1', '../x', NAME.toUpperCase(), `${NAME}0`])('refuses the name %p', async (name) => {
    const { adapter, link } = await fixture();
    await expect(adapter.create(name)).rejects.toMatchObject({
      code: 'invalid',
      detail: 'not_a_runner_sandbox_name',
      effect: 'none',
    });
    expect(() => adapter.buildHandle(name)).toThrow(SandboxError);
    expect(link.asked).toEqual([]);
  });

  test('says runner_offline of a runner that is not connected, never not_found', async () => {
    const { adapter } = await fixture();
    const elsewhere = { provider: 'runner', name: OTHERS };
    const expected = { code: 'unavailable', detail: 'runner_offline', effect: 'none' };
    await expect(adapter.get(elsewhere)).rejects.toMatchObject(expected);
    await expect(adapter.destroy(elsewhere)).rejects.toMatchObject(expected);
    await expect(adapter.spawn(elsewhere, 'true')).rejects.toMatchObject(expected);
  });

  test('says unavailable when the host fails', async () => {
    const { adapter, host } = await fixture();
    host.whereis = () => Promise.reject(new Error('lost the cluster'));
    await expect(adapter.destroy(handle)).rejects.toMatchObject({ code: 'unavailable', effect: 'none' });
  });

  test.each([
    ['running', 'running'],
    ['suspended', 'suspended'],
    ['hibernating', 'unknown'],
    [undefined, 'unknown'],
  ])('reads the status %p as %p', async (said, status) => {
    const raw = { status: said, path: '/srv/one' };
    const { adapter } = await fixture({ get: raw });
    await expect(adapter.get(handle)).resolves.toEqual({ status, raw });
  });

  describe('destroy', () => {
    test('waits two minutes', async () => {
      const { adapter, link } = await fixture();
      await expect(adapter.destroy(handle)).resolves.toBeUndefined();
      expect(link.asked[0]?.[2]?.timeoutMs).toBe(120_000);
    });

    test('takes not_found for done', async () => {
      const { adapter } = await fixture({ destroy: failure('not_found') });
      await expect(adapter.destroy(handle)).resolves.toBeUndefined();
    });

    test('passes every other refusal on', async () => {
      const { adapter } = await fixture({ destroy: failure('unavailable', { effect: 'unknown' }) });
      await expect(adapter.destroy(handle)).rejects.toMatchObject({ code: 'unavailable', effect: 'unknown' });
    });
  });

  test('resumes into a fresh handle', async () => {
    const { adapter } = await fixture();
    await expect(adapter.suspend(handle)).resolves.toBeUndefined();
    await expect(adapter.resume(handle)).resolves.toEqual(handle);
  });

  describe('listAllNames', () => {
    test('gathers those of all runners online, each of which can only name its own', async () => {
      const { adapter, host } = await fixture({ list: { names: [NAME, OTHERS, 'stray', NAME, '__proto__'] } });
      await host.register(OTHER, new ScriptedLink(OTHER, { list: { names: [OTHERS] } }), undefined);
      await expect(adapter.listAllNames()).resolves.toEqual([NAME, OTHERS]);
    });

    test('is empty without runners', async () => {
      await expect(new RunnerAdapter(new LocalRunnerHost()).listAllNames()).resolves.toEqual([]);
    });

    test.each(['runner_offline', 'runner_disconnected'] as const)(
      'skips a runner that failed with %s and is no longer listed',
      async (detail) => {
        const { adapter, host } = await fixture({ list: { names: [NAME] } });
        const leaving = new ScriptedLink(OTHER, {
          list: async () => {
            await host.unregister(OTHER, leaving);
            throw failure('unavailable', { detail });
          },
        });
        await host.register(OTHER, leaving, undefined);
        await expect(adapter.listAllNames()).resolves.toEqual([NAME]);
      },
    );

    test('refuses the whole view for a refusal, though that runner has left', async () => {
      const { adapter, host } = await fixture({ list: { names: [NAME] } });
      const leaving = new ScriptedLink(OTHER, {
        list: async () => {
          await host.unregister(OTHER, leaving);
          throw failure('unavailable', { detail: 'runner_timeout' });
        },
      });
      await host.register(OTHER, leaving, undefined);
      await expect(adapter.listAllNames()).rejects.toMatchObject({ detail: 'runner_timeout' });
    });

    test.each([
      ['runner_disconnected and is still listed', failure('unavailable', { detail: 'runner_disconnected' })],
      ['runner_timeout', failure('unavailable', { detail: 'runner_timeout' })],
      ['a malformed reply', failure('provider', { detail: 'malformed_reply' })],
      ['a refusal', failure('not_supported')],
    ])('refuses the whole view when one fails with %s', async (_, error) => {
      const { adapter, host } = await fixture({ list: { names: [NAME] } });
      await host.register(OTHER, new ScriptedLink(OTHER, { list: error }), undefined);
      await expect(adapter.listAllNames()).rejects.toMatchObject({ code: error.code, effect: 'none' });
    });
  });

  describe('writeFile', () => {
    test('sends the bytes and the mode', async () => {
      const { adapter, link } = await fixture();
      await adapter.writeFile(handle, 'a/b', 'hé', { mode: 0o600 });
      expect(link.asked[0]?.[1]).toEqual({ name: NAME, path: 'a/b', data: Buffer.from('hé'), mode: 0o600 });
    });

    test('gathers a stream', async () => {
      const { adapter, link } = await fixture();
      async function* pieces(): AsyncGenerator<string> {
        yield 'one';
        yield 'two';
      }
      await adapter.writeFile(handle, 'a', pieces());
      expect(link.asked[0]?.[1]).toEqual({ name: NAME, path: 'a', data: Buffer.from('onetwo'), mode: undefined });
    });

    test('lets a stream that hangs go when the caller aborts', async () => {
      const { adapter, link } = await fixture();
      const abort = new AbortController();
      const [released, release] = [[] as string[], new AbortController()];
      async function* pieces(): AsyncGenerator<string> {
        try {
          yield 'one';
          setImmediate(() => abort.abort(new Error('enough')));
          await new Promise((resolve) => release.signal.addEventListener('abort', resolve));
          yield 'two';
        } finally {
          released.push('released');
        }
      }
      await expect(adapter.writeFile(handle, 'a', pieces(), { signal: abort.signal })).rejects.toMatchObject({
        code: 'aborted',
        effect: 'none',
        cause: new Error('enough'),
      });
      release.abort();
      while (released.length === 0) await new Promise(setImmediate);
      expect(link.asked).toEqual([]);
    });

    test('says that a stream failed, and sends nothing', async () => {
      const { adapter, link } = await fixture();
      async function* pieces(): AsyncGenerator<string> {
        yield 'one';
        throw new Error('disk');
      }
      await expect(adapter.writeFile(handle, 'a', pieces())).rejects.toMatchObject({
        code: 'invalid',
        effect: 'none',
        cause: new Error('disk'),
      });
      expect(link.asked).toEqual([]);
    });

    test('refuses more than 8 MiB before anything is sent', async () => {
      const { adapter, link } = await fixture();
      await expect(
        adapter.writeFile(handle, 'a', new Uint8Array(PROTOCOL_LIMITS.writeFileBytes + 1)),
      ).rejects.toMatchObject({ code: 'invalid', detail: 'request_too_large', effect: 'none' });
      await adapter.writeFile(handle, 'a', new Uint8Array(PROTOCOL_LIMITS.writeFileBytes));
      expect(link.asked).toHaveLength(1);
    });
  });

  describe('hostPath', () => {
    test.each([
      ['~', '/srv/$1'],
      ['~/a', '/srv/$1/a'],
      ['/home/sprite', '/srv/$1'],
      ['/home/sprite/a/../b', '/srv/$1/a/../b'],
    ])('maps %p to %p', async (path, mapped) => {
      const { adapter } = await fixture({ get: { path: '/srv/$1' } });
      await expect(adapter.hostPath(handle, path)).resolves.toBe(mapped);
    });

    test.each(['/home/spriteful/x', 'a/~', '~user', '/srv/home/sprite', 's#/home/sprite#Q#', 'rel/home/sprite'])(
      'leaves %p as it is',
      async (path) => {
        const { adapter, link } = await fixture();
        await expect(adapter.hostPath(handle, path)).resolves.toBe(path);
        expect(link.asked).toEqual([]);
      },
    );

    test('never guesses', async () => {
      const silent = await fixture({ get: { status: 'running' } });
      await expect(silent.adapter.hostPath(handle, '~')).rejects.toMatchObject({
        code: 'provider',
        detail: 'malformed_reply',
      });
      const gone = await fixture({ get: failure('not_found') });
      await expect(gone.adapter.hostPath(handle, '~')).rejects.toMatchObject({ code: 'not_found' });
    });
  });

  test('lists running sessions, with dates that are dates', async () => {
    const { adapter } = await fixture({
      list_sessions: {
        sessions: [
          { id: 's-1', command: 'bash', createdAt: '2026-01-02T03:04:05Z', lastActivityAt: 'yesterday', tty: true },
          { id: 's-2' },
          { id: 's-3', exitCode: 0 },
        ],
      },
    });
    await expect(adapter.listSessions(handle)).resolves.toEqual([
      { id: 's-1', command: 'bash', createdAt: new Date('2026-01-02T03:04:05Z'), lastActivityAt: undefined, tty: true },
      { id: 's-2', tty: false },
    ]);
  });

  describe('spawn and attach', () => {
    test('give a command over the session', async () => {
      const { adapter, link } = await fixture();
      const command = await adapter.spawn(handle, 'cat', ['-u'], { env: { A: '1' }, dir: 'd', stdin: true });
      expect(link.asked[0]?.slice(0, 2)).toEqual([
        'spawn',
        {
          name: NAME,
          cmd: 'cat',
          args: ['-u'],
          env: [['A', '1']],
          dir: 'd',
          stdin: true,
          detachable: false,
        },
      ]);
      expect(command.sessionId).toBe('s-1');
      await command.writeStdin('x');
      await command.closeStdin();
      const [sink] = link.sinks;
      sink?.frame({ type: 'stdout', data: Buffer.from('out'), offset: 0 });
      sink?.frame({ type: 'exit', exitCode: 3 });
      await expect(command.drain()).resolves.toEqual({ exitCode: 3 });
      expect(link.session).toEqual(['write x', 'close', 'taken 3']);
    });

    test('pass on from where and whether to take stdin', async () => {
      const { adapter, link } = await fixture();
      await adapter.attach(handle, 's-1', { from: { stdout: 5 }, stdin: true });
      await adapter.attach(handle, 's-1', { from: 'now' });
      expect(link.asked.map(([, body]) => body)).toEqual([
        { name: NAME, sessionId: 's-1', from: { stdout: 5, stderr: 0 }, stdin: true },
        { name: NAME, sessionId: 's-1', from: 'now', stdin: false },
      ]);
    });

    test('end with what the link says', async () => {
      const { adapter, link } = await fixture();
      const command = await adapter.spawn(handle, 'cat');
      link.sinks[0]?.error(failure('unavailable', { detail: 'runner_disconnected' }));
      await expect(command.exit).rejects.toMatchObject({ detail: 'runner_disconnected' });
    });
  });

  describe('exec in one request', () => {
    const done = { output: Buffer.from('hi'), stderr: Buffer.from('oh'), code: 7, signal: 'SIGTERM' };

    test('gives what the daemon measured', async () => {
      const { adapter, link } = await fixture({ exec: done });
      const result = await adapter.exec(handle, 'sh', ['-c', 'x'], { timeoutMs: 60_000 });
      expect(result).toMatchObject({ exitCode: 7, signal: 'SIGTERM', output: done.output, stderr: done.stderr });
      const [, body, options] = link.asked[0] as [string, { timeoutMs: number }, RequestOptions];
      expect(body).toMatchObject({ cmd: 'sh', args: ['-c', 'x'], stderrToStdout: false, maxOutputBytes: 16 * 2 ** 20 });
      expect(body.timeoutMs).toBeGreaterThan(59_000);
      expect(body.timeoutMs).toBeLessThanOrEqual(60_000);
      expect(options.timeoutMs).toBe(body.timeoutMs + 5_000);
    });

    test('never waits longer than a timer can', async () => {
      const { adapter, link } = await fixture({ exec: done });
      await adapter.exec(handle, 'x', [], { timeoutMs: 2 ** 31 - 1 });
      expect(link.asked[0]?.[2]?.timeoutMs).toBe(2 ** 31 - 1);
    });

    test('waits as long as the socket lives without a deadline', async () => {
      const { adapter, link } = await fixture({ exec: { output: Buffer.alloc(0), code: 0 } });
      const result = await adapter.exec(handle, 'true');
      expect(result.stderr).toBeUndefined();
      expect(link.asked[0]?.[2]?.timeoutMs).toBeNull();
    });

    test('says timeout when the daemon does not answer by the deadline', async () => {
      const { adapter } = await fixture({ exec: failure('unavailable', { detail: 'runner_timeout' }) });
      await expect(adapter.exec(handle, 'true', [], { timeoutMs: 50 })).rejects.toMatchObject({
        code: 'unavailable',
        detail: 'timeout',
        effect: 'unknown',
      });
    });

    test('says of a request that never left the queue that it did nothing', async () => {
      const { adapter } = await fixture({ exec: failure('unavailable', { detail: 'runner_timeout', effect: 'none' }) });
      await expect(adapter.exec(handle, 'true', [], { timeoutMs: 50 })).rejects.toMatchObject({
        code: 'unavailable',
        detail: 'timeout',
        effect: 'none',
      });
    });

    test.each(['done', 'unknown'] as const)('keeps the effect %s of the daemon’s own timeout', async (effect) => {
      const { adapter } = await fixture({ exec: failure('unavailable', { detail: 'timeout', effect }) });
      await expect(adapter.exec(handle, 'true', [], { timeoutMs: 50 })).rejects.toMatchObject({
        detail: 'timeout',
        effect,
      });
    });

    test('never cuts output that exceeds the limit', async () => {
      const { adapter } = await fixture({ exec: done });
      await expect(adapter.exec(handle, 'x', [], { maxOutputBytes: 3 })).rejects.toMatchObject({
        code: 'truncated',
        detail: 'output_limit',
        effect: 'done',
      });
      await expect(adapter.exec(handle, 'x', [], { maxOutputBytes: 4 })).resolves.toMatchObject({ exitCode: 7 });
    });

    test('does not take a signal for one that is none', async () => {
      const { adapter } = await fixture({ exec: { ...done, signal: 'rm -rf' } });
      const result = await adapter.exec(handle, 'x');
      expect(result.signal).toBeUndefined();
    });

    describe('of a daemon that names no instance', () => {
      const slow =
        (code: number, ms: number): Reply =>
        async () => {
          const until = performance.now() + ms;
          while (performance.now() < until) await new Promise(setImmediate);
          return { output: Buffer.alloc(0), code };
        };

      test.each([124, 137])('takes %i after the deadline for a timeout', async (code) => {
        const { adapter } = await fixture({ exec: slow(code, 60) }, null);
        await expect(adapter.exec(handle, 'x', [], { timeoutMs: 50 })).rejects.toMatchObject({
          detail: 'timeout',
          effect: 'unknown',
        });
      });

      test.each([124, 137])('takes %i before the deadline for the result', async (code) => {
        const { adapter } = await fixture({ exec: slow(code, 0) }, null);
        await expect(adapter.exec(handle, 'x', [], { timeoutMs: 60_000 })).resolves.toMatchObject({ exitCode: code });
      });

      test('takes any other code after the deadline for the result', async () => {
        const { adapter } = await fixture({ exec: slow(0, 60) }, null);
        await expect(adapter.exec(handle, 'x', [], { timeoutMs: 50 })).resolves.toMatchObject({ exitCode: 0 });
      });

      test('trusts one that names its instance', async () => {
        const { adapter } = await fixture({ exec: slow(137, 60) });
        await expect(adapter.exec(handle, 'x', [], { timeoutMs: 50 })).resolves.toMatchObject({ exitCode: 137 });
      });
    });
  });

  describe('exec over a session', () => {
    /** Waits for the session to be opened. */
    async function sinkOf(link: ScriptedLink): Promise<SessionSink> {
      while (link.sinks.length === 0) await new Promise(setImmediate);
      return link.sinks[0] as SessionSink;
    }

    test('feeds stdin and collects', async () => {
      const { adapter, link } = await fixture();
      const result = adapter.exec(handle, 'cat', [], { stdin: 'hello' });
      const sink = await sinkOf(link);
      while (!link.session.includes('close')) await new Promise(setImmediate);
      sink.frame({ type: 'stdout', data: Buffer.from('hel'), offset: 0 });
      sink.frame({ type: 'stderr', data: Buffer.from('!'), offset: 0 });
      sink.frame({ type: 'stdout', data: Buffer.from('lo'), offset: 3 });
      sink.frame({ type: 'exit', exitCode: 0 });
      const { output, stderr, exitCode } = await result;
      expect([Buffer.from(output).toString(), Buffer.from(stderr ?? []).toString(), exitCode]).toEqual([
        'hello',
        '!',
        0,
      ]);
      expect(link.asked.map(([op]) => op)).toEqual(['spawn']);
      expect(link.asked[0]?.[1]).toMatchObject({ stdin: true, detachable: false });
      expect(link.asked[0]?.[2]).toMatchObject({ exec: true });
      expect(link.session[0]).toBe('write hello');
    });

    test('is how more than one reply holds is collected', async () => {
      const { adapter, link } = await fixture();
      const result = adapter.exec(handle, 'x', [], { maxOutputBytes: 2 ** 24 + 1, timeoutMs: 60_000 });
      const sink = await sinkOf(link);
      expect(link.asked[0]?.[1]).toMatchObject({ stdin: false, maxOutputBytes: 2 ** 24 + 1 });
      sink.frame({ type: 'exit', exitCode: 0 });
      await expect(result).resolves.toMatchObject({ exitCode: 0 });
    });

    test.each([
      ['timeout', true, { code: 'unavailable', detail: 'timeout', effect: 'done' }],
      ['timeout', false, { code: 'unavailable', detail: 'timeout', effect: 'unknown' }],
      ['timeout', undefined, { code: 'unavailable', detail: 'timeout', effect: 'unknown' }],
      ['output_limit', true, { code: 'truncated', detail: 'output_limit', effect: 'done' }],
    ] as const)('says that the daemon stopped it by %s, gone %p', async (stoppedBy, gone, expected) => {
      const { adapter, link } = await fixture();
      const result = adapter.exec(handle, 'x', [], { stdin: '', timeoutMs: 60_000 });
      const sink = await sinkOf(link);
      sink.frame({ type: 'exit', exitCode: 143, stoppedBy, ...(gone !== undefined && { gone }) });
      await expect(result).rejects.toMatchObject(expected);
    });

    test('waits for no stop that nobody was asked for', async () => {
      const { adapter, link } = await fixture();
      const startedAt = performance.now();
      const stdin = (async function* () {
        yield 'a';
        throw new Error('lost');
      })();
      const error = { code: 'invalid', detail: 'argument', effect: 'unknown' };
      await expect(adapter.exec(handle, 'x', [], { stdin, timeoutMs: 60_000 })).rejects.toMatchObject(error);
      expect(performance.now() - startedAt).toBeLessThan(2_000);
      expect(link.session.at(-1)).toBe('stop');
    });

    test('gives no exit when the connection ends', async () => {
      const { adapter, link } = await fixture();
      const result = adapter.exec(handle, 'x', [], { stdin: '' });
      (await sinkOf(link)).error(failure('unavailable', { detail: 'runner_disconnected' }));
      await expect(result).rejects.toMatchObject({ detail: 'runner_disconnected', effect: 'unknown' });
    });
  });
});
