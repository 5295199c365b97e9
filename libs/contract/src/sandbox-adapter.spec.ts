import { describe, expect, test } from '@jest/globals';
import { SANDBOX_OPERATIONS, type OperationTraits, type SandboxOperation } from './adapter-operations.js';
import type {
  AttachRequest,
  ExecRequest,
  SpawnRequest,
  TerminateRequest,
  WriteFileRequest,
} from './adapter-requests.js';
import { SANDBOX_CAPABILITIES, type SandboxCapability } from './capabilities.js';
import type { SandboxCommand } from './command.js';
import { execResult } from './exec-result.js';
import type { ExecResult } from './frames.js';
import { sandboxHandle, type SandboxHandle } from './handle.js';
import type {
  CallOptions,
  Checkpoint,
  FileEntry,
  FileStat,
  NetworkPolicy,
  SandboxInfo,
  SandboxSession,
} from './operations.js';
import { SandboxAdapter } from './sandbox-adapter.js';
import { SandboxError } from './sandbox-error.js';
import { DEFAULT_TRAITS } from './traits.js';

/** Has only what an adapter must have, and records what reaches it. */
class PlainAdapter extends SandboxAdapter {
  override capabilities: ReadonlySet<SandboxCapability> = new Set();
  readonly calls: unknown[][] = [];
  failure: { readonly thrown: unknown } | undefined;

  constructor(tag = 'fake') {
    super(tag);
  }

  protected override checkName(name: string): void {
    if (name === 'reserved') throw new SandboxError('invalid', { detail: 'argument' });
  }

  protected override doCreate(name: string, options: CallOptions) {
    return this.record(sandboxHandle(this.provider, name), 'create', name, options);
  }

  protected override doGet(handle: SandboxHandle, options: CallOptions) {
    return this.record<SandboxInfo>({ status: 'running', raw: undefined }, 'get', handle, options);
  }

  protected override doDestroy(handle: SandboxHandle, options: CallOptions) {
    return this.record(undefined, 'destroy', handle, options);
  }

  protected override doListAllNames(options: CallOptions) {
    return this.record(['a'], 'listAllNames', options);
  }

  protected override doWriteFile(handle: SandboxHandle, request: WriteFileRequest) {
    return this.record(undefined, 'writeFile', handle, request);
  }

  protected override doExec(handle: SandboxHandle, request: ExecRequest) {
    return this.record<ExecResult>(execResult({ output: new Uint8Array(), exitCode: 0 }), 'exec', handle, request);
  }

  protected override doSpawn(handle: SandboxHandle, request: SpawnRequest) {
    return this.record({} as SandboxCommand, 'spawn', handle, request);
  }

  protected record<T>(answer: T, ...call: unknown[]): Promise<T> {
    this.calls.push(call);
    return this.failure ? Promise.reject(this.failure.thrown) : Promise.resolve(answer);
  }
}

/** Has everything. */
class FullAdapter extends PlainAdapter {
  override capabilities: ReadonlySet<SandboxCapability> = new Set(SANDBOX_CAPABILITIES);
  able: ReadonlySet<SandboxCapability> = new Set(SANDBOX_CAPABILITIES);
  lookupFailure: { readonly thrown: unknown } | undefined;

  protected override async doCapabilitiesOf(_handle: SandboxHandle, _options: CallOptions) {
    if (this.lookupFailure) throw this.lookupFailure.thrown;
    return this.able;
  }

  protected override doCreateNew(name: string, options: CallOptions) {
    return this.record(sandboxHandle(this.provider, name, 'i-1'), 'createNew', name, options);
  }

  protected override doSuspend(handle: SandboxHandle, options: CallOptions) {
    return this.record(undefined, 'suspend', handle, options);
  }

  protected override doResume(handle: SandboxHandle, options: CallOptions) {
    return this.record(handle, 'resume', handle, options);
  }

  protected override doReadFile(handle: SandboxHandle, path: string, options: CallOptions) {
    return this.record(new Uint8Array(), 'readFile', handle, path, options);
  }

  protected override doListFiles(handle: SandboxHandle, path: string, options: CallOptions) {
    return this.record<FileEntry[]>([], 'listFiles', handle, path, options);
  }

  protected override doStatFile(handle: SandboxHandle, path: string, options: CallOptions) {
    return this.record({} as FileStat, 'statFile', handle, path, options);
  }

  protected override doListSessions(handle: SandboxHandle, options: CallOptions) {
    return this.record<SandboxSession[]>([], 'listSessions', handle, options);
  }

  protected override doAttach(handle: SandboxHandle, request: AttachRequest) {
    return this.record({} as SandboxCommand, 'attach', handle, request);
  }

  protected override doTerminateSession(handle: SandboxHandle, request: TerminateRequest) {
    return this.record(undefined, 'terminateSession', handle, request);
  }

  protected override doApplyNetworkPolicy(handle: SandboxHandle, policy: NetworkPolicy, options: CallOptions) {
    return this.record(undefined, 'applyNetworkPolicy', handle, policy, options);
  }

  protected override doPublicUrl(handle: SandboxHandle, port: number, options: CallOptions) {
    return this.record('https://x', 'publicUrl', handle, port, options);
  }

  protected override doCreateCheckpoint(handle: SandboxHandle, options: CallOptions) {
    return this.record<Checkpoint>({ id: 'c' }, 'createCheckpoint', handle, options);
  }

  protected override doRestoreCheckpoint(handle: SandboxHandle, id: string, options: CallOptions) {
    return this.record(undefined, 'restoreCheckpoint', handle, id, options);
  }

  protected override doHostPath(handle: SandboxHandle, path: string, options: CallOptions) {
    return this.record(`/host${path}`, 'hostPath', handle, path, options);
  }
}

const box = sandboxHandle('fake', 'box');

type Call = (adapter: SandboxAdapter, handle: SandboxHandle, options?: CallOptions) => Promise<unknown>;

/** A good call of every operation. */
const CALLS: Record<SandboxOperation, Call> = {
  capabilitiesOf: (adapter, handle, options) => adapter.capabilitiesOf(handle, options),
  create: (adapter, _, options) => adapter.create('box', options),
  createNew: (adapter, _, options) => adapter.createNew('box', options),
  get: (adapter, handle, options) => adapter.get(handle, options),
  destroy: (adapter, handle, options) => adapter.destroy(handle, options),
  listAllNames: (adapter, _, options) => adapter.listAllNames(options),
  suspend: (adapter, handle, options) => adapter.suspend(handle, options),
  resume: (adapter, handle, options) => adapter.resume(handle, options),
  writeFile: (adapter, handle, options) => adapter.writeFile(handle, '/f', 'x', options),
  readFile: (adapter, handle, options) => adapter.readFile(handle, '/f', options),
  listFiles: (adapter, handle, options) => adapter.listFiles(handle, '/d', options),
  statFile: (adapter, handle, options) => adapter.statFile(handle, '/f', options),
  exec: (adapter, handle, options) => adapter.exec(handle, 'true', [], options),
  spawn: (adapter, handle, options) => adapter.spawn(handle, 'true', [], options),
  listSessions: (adapter, handle, options) => adapter.listSessions(handle, options),
  attach: (adapter, handle, options) => adapter.attach(handle, 's-1', options),
  terminateSession: (adapter, handle, options) => adapter.terminateSession(handle, 's-1', options),
  applyNetworkPolicy: (adapter, handle, options) => adapter.applyNetworkPolicy(handle, { allow: [] }, options),
  publicUrl: (adapter, handle, options) => adapter.publicUrl(handle, { port: 80 }, options),
  createCheckpoint: (adapter, handle, options) => adapter.createCheckpoint(handle, options),
  restoreCheckpoint: (adapter, handle, options) => adapter.restoreCheckpoint(handle, 'c', options),
  hostPath: (adapter, handle, options) => adapter.hostPath(handle, '/f', options),
};
const OPERATIONS = Object.entries(CALLS) as [SandboxOperation, Call][];
const ABOUT_A_SANDBOX = OPERATIONS.filter(([name]) => !['create', 'createNew', 'listAllNames'].includes(name));
const traits = (operation: SandboxOperation): OperationTraits => SANDBOX_OPERATIONS[operation];

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => expect(value).toBe('a rejection'),
    (error: unknown) => error,
  );
}

describe('every operation', () => {
  test.each(OPERATIONS)('%s reaches its protected method with options that are an object', async (operation, call) => {
    const adapter = new FullAdapter();
    await call(adapter, box);
    await call(adapter, box, null as never);
    const reached = adapter.calls.map(([name, ...args]) => [name, typeof args.at(-1)]);
    expect(reached).toEqual(
      operation === 'capabilitiesOf'
        ? []
        : [
            [operation, 'object'],
            [operation, 'object'],
          ],
    );
  });

  test.each(OPERATIONS)(
    '%s gives a foreign error as provider, with the cause and nothing of its message',
    async (operation, call) => {
      const adapter = new FullAdapter();
      const cause = new TypeError('token=hunter2');
      adapter.failure = { thrown: cause };
      if (operation === 'capabilitiesOf') adapter.lookupFailure = adapter.failure;
      const failure = await failureOf(call(adapter, box));
      expect(failure).toBeInstanceOf(SandboxError);
      expect(failure).toMatchObject({
        code: 'provider',
        provider: 'fake',
        operation,
        cause,
        effect: traits(operation).readOnly ? 'none' : 'unknown',
        message: `${operation} failed with an unexpected TypeError`,
      });
    },
  );

  test.each(OPERATIONS)('%s is aborted before any effect by a signal that has fired', async (operation, call) => {
    const adapter = new FullAdapter();
    const failure = await failureOf(call(adapter, box, { signal: AbortSignal.abort('why') }));
    expect(failure).toMatchObject({ code: 'aborted', effect: 'none', cause: 'why', operation, provider: 'fake' });
    expect(adapter.calls).toEqual([]);
  });

  test.each(OPERATIONS)('%s refuses options and signals that are none', async (operation, call) => {
    const adapter = new FullAdapter();
    for (const options of ['x', [], { signal: 'x' }]) {
      const failure = await failureOf(call(adapter, box, options as never));
      expect(failure).toMatchObject({ code: 'invalid', detail: 'argument', effect: 'none', operation });
    }
    expect(adapter.calls).toEqual([]);
  });

  const OPEN: ReadonlySet<string> = new Set(['create', 'createNew']);

  test.each(OPERATIONS.filter(([name]) => !OPEN.has(name)))(
    '%s refuses an option that it does not know, and takes one that is undefined for none',
    async (operation, call) => {
      const adapter = new FullAdapter();
      const refusal = { code: 'invalid', detail: 'argument', effect: 'none', operation, provider: 'fake' };
      const failure = (await failureOf(call(adapter, box, { timeoutMS: 5 } as never))) as SandboxError;
      expect(failure).toMatchObject(refusal);
      expect(failure.message).toMatch(/^options: there is no 'timeoutMS'; \w+ takes signal/);
      const secret = (await failureOf(call(adapter, box, { 'sk-hunter2': true } as never))) as SandboxError;
      expect(secret).toMatchObject(refusal);
      expect(secret.message).not.toContain('hunter2');
      expect(adapter.calls).toEqual([]);
      await call(adapter, box, { timeoutMS: undefined } as never);
      expect(adapter.calls).toHaveLength(operation === 'capabilitiesOf' ? 0 : 1);
    },
  );

  test.each(OPERATIONS.filter(([name]) => OPEN.has(name)))(
    '%s leaves options to adapters that have more',
    async (operation, call) => {
      const adapter = new FullAdapter();
      await call(adapter, box, { template: 't' } as never);
      expect(adapter.calls).toEqual([[operation, 'box', { template: 't' }]]);
    },
  );

  test.each(ABOUT_A_SANDBOX)('%s refuses what is not a handle of this provider', async (operation, call) => {
    const adapter = new FullAdapter();
    const bad = [
      undefined,
      null,
      'box',
      {},
      { provider: 'other', name: 'box' },
      { provider: 'fake' },
      { provider: 'fake', name: '' },
      { provider: 'fake', name: 'a\0' },
      { provider: 'fake', name: 'reserved' },
      { provider: 'fake', name: 'box', instanceId: 5 },
    ];
    for (const handle of bad) {
      const failure = await failureOf(call(adapter, handle as never));
      expect(failure).toMatchObject({
        code: 'invalid',
        detail: 'argument',
        effect: 'none',
        operation,
        provider: 'fake',
      });
    }
    expect(adapter.calls).toEqual([]);
  });

  const gated = OPERATIONS.filter(([operation]) => traits(operation).needs !== undefined);
  test.each(gated)('%s is not_supported without its capability', async (operation, call) => {
    const never = new FullAdapter();
    never.capabilities = new Set(SANDBOX_CAPABILITIES.filter((capability) => capability !== traits(operation).needs));
    const refusal = { code: 'not_supported', effect: 'none', operation, provider: 'fake' };
    expect(await failureOf(call(never, box))).toMatchObject(refusal);
    expect(await failureOf(call(new PlainAdapter(), box))).toMatchObject(refusal);
    expect(never.calls).toEqual([]);
  });

  test.each(gated.filter(([operation]) => operation !== 'createNew'))(
    '%s is not_supported where this sandbox lacks the capability, and does nothing where that cannot be told',
    async (operation, call) => {
      const adapter = new FullAdapter();
      adapter.able = new Set(SANDBOX_CAPABILITIES.filter((capability) => capability !== traits(operation).needs));
      expect(await failureOf(call(adapter, box))).toMatchObject({ code: 'not_supported', effect: 'none', operation });
      for (const thrown of [new SandboxError('unavailable', { effect: 'unknown' }), new Error('x')]) {
        adapter.lookupFailure = { thrown };
        expect(await failureOf(call(adapter, box))).toMatchObject({ effect: 'none', operation, provider: 'fake' });
      }
      expect(adapter.calls).toEqual([]);
    },
  );

  test('is not_supported when a capability is declared and not implemented', async () => {
    const adapter = new PlainAdapter();
    adapter.capabilities = new Set(SANDBOX_CAPABILITIES);
    for (const [operation, call] of gated) {
      expect(await failureOf(call(adapter, box))).toMatchObject({ code: 'not_supported', effect: 'none', operation });
    }
  });
});

describe('errors', () => {
  test('keep code, detail, effect, retryAfterMs and cause; provider and operation are filled in', async () => {
    const adapter = new PlainAdapter();
    const thrown = new SandboxError('rate_limited', { retryAfterMs: 5, effect: 'unknown', cause: 'c', message: 'm' });
    adapter.failure = { thrown };
    expect(await failureOf(adapter.destroy(box))).toMatchObject({
      code: 'rate_limited',
      retryAfterMs: 5,
      effect: 'unknown',
      cause: 'c',
      message: 'm',
      stack: thrown.stack,
      provider: 'fake',
      operation: 'destroy',
    });
  });

  test('name the call that the caller made, and the provider that the error names', async () => {
    const adapter = new PlainAdapter();
    adapter.failure = { thrown: new SandboxError('unavailable', { operation: 'get', provider: 'inner' }) };
    expect(await failureOf(adapter.exec(box, 'true'))).toMatchObject({ operation: 'exec', provider: 'inner' });
  });

  test('that are complete are passed on as they are', async () => {
    const adapter = new PlainAdapter();
    const thrown = new SandboxError('not_found', { provider: 'fake', operation: 'get' });
    adapter.failure = { thrown };
    expect(await failureOf(adapter.get(box))).toBe(thrown);
  });

  test('of calls that only read have effect none', async () => {
    const adapter = new PlainAdapter();
    adapter.failure = { thrown: new SandboxError('unavailable', { detail: 'runner_disconnected', effect: 'unknown' }) };
    expect(await failureOf(adapter.get(box))).toMatchObject({ detail: 'runner_disconnected', effect: 'none' });
    expect(await failureOf(adapter.listAllNames())).toMatchObject({ effect: 'none' });
    expect(await failureOf(adapter.exec(box, 'true'))).toMatchObject({ effect: 'unknown' });
  });

  test('that are foreign, after the signal fired, are aborted', async () => {
    const abort = new AbortController();
    const adapter = new PlainAdapter();
    adapter.failure = { thrown: new DOMException('x', 'AbortError') };
    const [get, exec] = [
      adapter.get(box, { signal: abort.signal }),
      adapter.exec(box, 'x', [], { signal: abort.signal }),
    ];
    abort.abort('why');
    expect(await failureOf(get)).toMatchObject({ code: 'aborted', effect: 'none', cause: 'why', operation: 'get' });
    expect(await failureOf(exec)).toMatchObject({ code: 'aborted', effect: 'unknown', cause: 'why' });
  });

  const ABOUT_A_FILE: readonly [SandboxOperation, (adapter: SandboxAdapter, path: string) => Promise<unknown>][] = [
    ['writeFile', (adapter, path) => adapter.writeFile(box, path, 'content')],
    ['readFile', (adapter, path) => adapter.readFile(box, path)],
    ['listFiles', (adapter, path) => adapter.listFiles(box, path)],
    ['statFile', (adapter, path) => adapter.statFile(box, path)],
    ['hostPath', (adapter, path) => adapter.hostPath(box, path)],
  ];

  test.each(ABOUT_A_FILE)('of %s name the file beside the message, in one line that is never long', async (_, call) => {
    const adapter = new FullAdapter();
    const complete = new SandboxError('not_found', {
      message: 'no such file',
      provider: 'fake',
      operation: 'readFile',
    });
    for (const thrown of [complete, new TypeError('x')]) {
      adapter.failure = { thrown };
      const failure = (await failureOf(call(adapter, '~/a b/é\n\u001b[31m\u202e'))) as SandboxError;
      expect(failure).toMatchObject({ path: '~/a b/é\\u{a}\\u{1b}[31m\\u{202e}' });
      expect(failure.message).not.toContain('a b');
      expect(failure.with({ effect: 'none' })).toMatchObject({ path: failure.path });
    }
    expect(await failureOf(call(adapter, 'x'.repeat(256)))).toMatchObject({ path: 'x'.repeat(256) });
    for (const path of ['y'.repeat(257), '\n'.repeat(100), '💡'.repeat(200)]) {
      const { path: shown } = (await failureOf(call(adapter, path))) as SandboxError;
      expect(shown).toHaveLength(256);
      expect(shown).toMatch(/…$/);
      expect(shown?.isWellFormed()).toBe(true);
    }
  });

  test('of an argument that is no text, and of calls about no file, name none', async () => {
    const adapter = new FullAdapter();
    const { code, path } = (await failureOf(adapter.readFile(box, 'a\0b'))) as SandboxError;
    expect([code, path]).toEqual(['invalid', 'a\\u{0}b']);
    expect('path' in ((await failureOf(adapter.readFile(box, 5 as never))) as object)).toBe(false);
    adapter.failure = { thrown: new SandboxError('unavailable') };
    expect('path' in ((await failureOf(adapter.exec(box, '/bin/true'))) as object)).toBe(false);
  });

  test('thrown synchronously or not errors at all are rejections', async () => {
    class Throwing extends PlainAdapter {
      protected override doGet(): Promise<SandboxInfo> {
        throw 'text';
      }
    }
    expect(await failureOf(new Throwing().get(box))).toMatchObject({
      code: 'provider',
      cause: 'text',
      message: 'get failed with an unexpected string',
    });
  });
});

describe('requests', () => {
  test('exec: defaults', async () => {
    const adapter = new PlainAdapter();
    const before = performance.now();
    await adapter.exec(box, 'true');
    const [, handle, request] = adapter.calls[0] as [string, SandboxHandle, ExecRequest];
    expect(handle).toBe(box);
    expect(request).toEqual({
      cmd: 'true',
      args: [],
      env: [],
      stderrToStdout: false,
      maxOutputBytes: 16 * 1024 * 1024,
      startedAtMs: expect.any(Number),
    });
    expect(request.startedAtMs).toBeGreaterThanOrEqual(before);
  });

  test('exec: everything given', async () => {
    const adapter = new PlainAdapter();
    const { signal } = new AbortController();
    await adapter.exec(box, 'sh', ['-c', 'exit'], {
      env: JSON.parse('{"__proto__":"x","A":"1"}'),
      dir: '/tmp',
      timeoutMs: 5,
      stderrToStdout: true,
      maxOutputBytes: 7,
      stdin: 'é',
      signal,
    });
    expect(adapter.calls[0]?.[2]).toEqual({
      cmd: 'sh',
      args: ['-c', 'exit'],
      env: [
        ['__proto__', 'x'],
        ['A', '1'],
      ],
      dir: '/tmp',
      timeoutMs: 5,
      stderrToStdout: true,
      maxOutputBytes: 7,
      stdin: Buffer.from('é'),
      startedAtMs: expect.any(Number),
      signal,
    });
  });

  test('spawn: the terminal is a size or nothing', async () => {
    const adapter = new FullAdapter();
    await adapter.spawn(box, 'sh');
    await adapter.spawn(box, 'sh', [], { tty: true, stdin: true, detachable: true });
    await adapter.spawn(box, 'sh', [], { tty: { cols: 1, rows: 2 } });
    expect(adapter.calls.map(([, , request]) => request)).toEqual([
      { cmd: 'sh', args: [], env: [], stdin: false, detachable: false },
      { cmd: 'sh', args: [], env: [], stdin: true, detachable: true, tty: { cols: 80, rows: 24 } },
      { cmd: 'sh', args: [], env: [], stdin: false, detachable: false, tty: { cols: 1, rows: 2 } },
    ]);
  });

  test('spawn on a terminal needs tty, and only then', async () => {
    const adapter = new FullAdapter();
    adapter.able = new Set();
    await adapter.spawn(box, 'sh', [], { tty: false });
    expect(await failureOf(adapter.spawn(box, 'sh', [], { tty: true }))).toMatchObject({ code: 'not_supported' });
    expect(adapter.calls).toHaveLength(1);
  });

  test('attach and terminate: defaults', async () => {
    const adapter = new FullAdapter();
    await adapter.attach(box, 's-1', { from: { stderr: 5 } });
    await adapter.terminateSession(box, 's-1');
    expect(adapter.calls.map(([, , request]) => request)).toEqual([
      { sessionId: 's-1', from: { stdout: 0, stderr: 5 }, stdin: false },
      { sessionId: 's-1', timeoutMs: 10_000, mode: 'graceful' },
    ]);
  });

  test('writeFile: text becomes bytes, pieces are checked as they come', async () => {
    const adapter = new PlainAdapter();
    await adapter.writeFile(box, '/f', 'é', { mode: 0o600 });
    await adapter.writeFile(
      box,
      '/f',
      (async function* () {
        yield 'é';
        yield 5 as never;
      })(),
    );
    const [whole, pieces] = adapter.calls.map(([, , request]) => request as WriteFileRequest);
    expect(whole).toEqual({ path: '/f', mode: 0o600, content: Buffer.from('é') });
    const content = pieces?.content as AsyncIterable<Uint8Array>;
    const seen: Uint8Array[] = [];
    const reading = (async () => {
      for await (const piece of content) seen.push(piece);
    })();
    expect(await failureOf(reading)).toMatchObject({ code: 'invalid', detail: 'argument' });
    expect(seen).toEqual([Buffer.from('é')]);
  });

  const bad: [string, (adapter: FullAdapter) => Promise<unknown>][] = [
    ['create with an empty name', (a) => a.create('')],
    ['create with a name that the adapter refuses', (a) => a.create('reserved')],
    ['createNew without a name', (a) => a.createNew(undefined as never)],
    ['exec without a command', (a) => a.exec(box, '')],
    ['exec with a NUL in an argument', (a) => a.exec(box, 'sh', ['a\0b'])],
    ['exec with arguments as one string', (a) => a.exec(box, 'sh', 'a b' as never)],
    ['exec with a bad variable', (a) => a.exec(box, 'sh', [], { env: { 'A=B': 'x' } })],
    ['exec with a space in a name of env', (a) => a.exec(box, 'sh', [], { env: { 'A B': 'x' } })],
    ['spawn with a line break in a name of env', (a) => a.spawn(box, 'sh', [], { env: { 'A\n': 'x' } })],
    ['exec with an empty directory', (a) => a.exec(box, 'sh', [], { dir: '' })],
    ['exec with a timeout of 0', (a) => a.exec(box, 'sh', [], { timeoutMs: 0 })],
    ['exec without room for output', (a) => a.exec(box, 'sh', [], { maxOutputBytes: 0 })],
    ['exec with stdin true', (a) => a.exec(box, 'sh', [], { stdin: true as never })],
    ['spawn with stdin as text', (a) => a.spawn(box, 'sh', [], { stdin: 'x' as never })],
    ['spawn on a terminal of no size', (a) => a.spawn(box, 'sh', [], { tty: { cols: 0, rows: 0 } })],
    ['spawn on a terminal of null', (a) => a.spawn(box, 'sh', [], { tty: null as never })],
    ['attach with a path as id', (a) => a.attach(box, '../s')],
    ['attach from a negative offset', (a) => a.attach(box, 's', { from: { stdout: -1 } })],
    ['terminate with too long a grace', (a) => a.terminateSession(box, 's', { timeoutMs: 30_001 })],
    ['terminate in no known mode', (a) => a.terminateSession(box, 's', { mode: 'kill' as never })],
    ['writeFile without a path', (a) => a.writeFile(box, '', 'x')],
    ['writeFile with a mode as text', (a) => a.writeFile(box, '/f', 'x', { mode: '0755' as never })],
    ['writeFile without content', (a) => a.writeFile(box, '/f', undefined as never)],
    ['readFile with a NUL', (a) => a.readFile(box, 'a\0')],
    ['a policy without hosts', (a) => a.applyNetworkPolicy(box, {} as never)],
    ['publicUrl without a port', (a) => a.publicUrl(box, {} as never)],
    ['publicUrl without a target', (a) => a.publicUrl(box, undefined as never)],
    ['restore without an id', (a) => a.restoreCheckpoint(box, '')],
  ];
  test.each(bad)('%s is invalid and reaches nothing, whatever the sandbox can do', async (_, call) => {
    const adapter = new FullAdapter();
    adapter.able = new Set();
    expect(await failureOf(call(adapter))).toMatchObject({ code: 'invalid', detail: 'argument', effect: 'none' });
    expect(adapter.calls).toEqual([]);
  });
});

describe('traits', () => {
  test('are the default ones of an adapter that declares none', () => {
    expect(new PlainAdapter().traits).toBe(DEFAULT_TRAITS);
    expect(DEFAULT_TRAITS).toEqual({
      sessionsOnSuspend: 'either',
      parks: 'on_request',
      atomicWrites: true,
      listing: 'account',
      exactIncarnations: true,
    });
  });
});

describe('the tag', () => {
  test('is the default until another one is bound; handles carry it', () => {
    const adapter = new PlainAdapter();
    expect(adapter.provider).toBe('fake');
    adapter.bind('other');
    adapter.bind('other');
    expect(adapter.provider).toBe('other');
    expect(adapter.buildHandle('box')).toEqual({ provider: 'other', name: 'box' });
  });

  test('one instance serves one tag', () => {
    const adapter = new PlainAdapter();
    adapter.bind('one');
    expect(() => adapter.bind('two')).toThrow(expect.objectContaining({ code: 'invalid' }));
    expect(adapter.provider).toBe('one');
  });

  test.each([['Fake'], [''], ['1a'], ['a-b'], [undefined]])('%p is malformed', (tag) => {
    expect(() => new PlainAdapter().bind(tag as never)).toThrow(expect.objectContaining({ code: 'invalid' }));
  });
});

test('buildHandle gives a frozen handle without I/O, and refuses what can be no name', () => {
  const adapter = new PlainAdapter();
  const handle = adapter.buildHandle('box');
  expect(Object.isFrozen(handle)).toBe(true);
  expect(adapter.calls).toEqual([]);
  for (const name of ['', 'reserved', 'a\0', undefined]) {
    expect(() => adapter.buildHandle(name as never)).toThrow(
      expect.objectContaining({ code: 'invalid', effect: 'none' }),
    );
  }
});

test('supports is the static maximum, capabilitiesOf what one sandbox can do', async () => {
  const adapter = new FullAdapter();
  adapter.able = new Set(['attach']);
  expect(adapter.supports('files')).toBe(true);
  expect(await adapter.capabilitiesOf(box)).toEqual(new Set(['attach']));
  const plain = new PlainAdapter();
  expect(plain.supports('files')).toBe(false);
  expect(await plain.capabilitiesOf(box)).toBe(plain.capabilities);
});

test('hostPath is the path itself unless overridden', async () => {
  expect(await new PlainAdapter().hostPath(box, '/f')).toBe('/f');
  expect(await new FullAdapter().hostPath(box, '/f')).toBe('/host/f');
});

test('a handle out of JSON serves', async () => {
  const adapter = new PlainAdapter();
  await adapter.get(JSON.parse(JSON.stringify(sandboxHandle('fake', 'box', 'i-1'))));
  expect(adapter.calls[0]?.[1]).toEqual({ provider: 'fake', name: 'box', instanceId: 'i-1' });
});
