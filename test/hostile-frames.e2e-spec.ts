import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { SandboxCommand, SandboxHandle } from '#libs/contract';
import { runnerSandboxName } from '../src/runner/index.js';
import { collect, type Collected } from './support/collect.js';
import { DaemonProcess } from './support/daemon-process.js';
import { refusal, words } from './support/errors.js';
import { TestApp } from './support/nest-app.js';
import { OTHER_RUNNER_ID, OTHER_RUNNER_TOKEN, RUNNER_ID, RUNNER_TOKEN } from './support/runners.js';
import { ScriptedDaemon, base64, type ScriptedRequest } from './support/scripted-daemon.js';
import { ScriptedPlatform, type ScriptedPeer } from './support/scripted-platform.js';
import { settles, until } from './support/until.js';

const NESTED = '['.repeat(200_000) + ']'.repeat(200_000);

describe('a hostile daemon', () => {
  const MALFORMED = { code: 'provider', detail: 'malformed_reply' };
  let app: TestApp;
  let bystander: Bystander;
  let daemon: ScriptedDaemon;
  let handle: SandboxHandle;

  beforeAll(async () => {
    app = await TestApp.start();
    bystander = await Bystander.start(app);
  });

  afterAll(async () => {
    await bystander?.finish();
    await app?.close();
  });

  beforeEach(async () => {
    daemon = await ScriptedDaemon.connect({ url: app.url, token: RUNNER_TOKEN, name: 'hostile' });
    daemon.answer = (request) => (request.op === 'create' ? { ok: true, result: {} } : undefined);
    await app.online(RUNNER_ID);
    handle = await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID));
  });

  afterEach(async () => {
    await daemon.close();
    await app.offline(RUNNER_ID);
    await bystander.isUntouched();
  });

  /** A spawn whose session the scripted daemon calls `id`. */
  async function spawned(
    id: string,
  ): Promise<{ command: SandboxCommand; seen: Promise<Collected>; request: ScriptedRequest }> {
    const spawning = app.sandboxes.spawn(handle, 'x', [], { stdin: true });
    const request = await daemon.next('spawn');
    daemon.ok(request, { session_id: id });
    const command = await spawning;
    return { command, seen: collect(command), request };
  }

  /** An exec over the same connection: 'fine' while it still serves. */
  async function served(): Promise<unknown> {
    const call = app.sandboxes.exec(handle, 'x', []);
    daemon.ok(await daemon.next('exec'), { output: base64('fine'), code: 3 });
    const { exitCode, output } = await call;
    return exitCode === 3 && Buffer.from(output).toString();
  }

  test.each([
    ['not JSON', 'not json'],
    ['an empty frame', ''],
    ['null', 'null'],
    ['an array', '[]'],
    ['a text', '"x"'],
    ['a number', '1'],
    ['200 000 nested arrays', NESTED],
    ['half an object', '{"id":1,'],
  ])('%s closes the connection with 1003', async (_, text) => {
    const pending = refusal(app.sandboxes.exec(handle, 'x', []));
    await daemon.next('exec');
    daemon.sendText(text);
    expect((await settles('the close', daemon.closed)).code).toBe(1003);
    expect(await pending).toEqual({ code: 'unavailable', detail: 'runner_disconnected', effect: 'unknown' });
  });

  test('a binary frame closes the connection with 1003', async () => {
    daemon.sendBinary(Buffer.from('{"id":1,"ok":true}'));
    expect((await settles('the close', daemon.closed)).code).toBe(1003);
  });

  test('a frame above the cap closes the connection, and nothing else', async () => {
    daemon.sendText(`{"id":1,"x":"${'x'.repeat(65 * 1024 * 1024)}"}`);
    expect((await settles('the close', daemon.closed)).code).toBe(1009);
  });

  test.each<[string, unknown]>([
    ['an empty object', {}],
    ['an id that is an object', { id: {} }],
    ['an id that is a text', { id: '1', ok: true }],
    ['a negative id', { id: -1, ok: true }],
    ['a huge id', { id: 1e308, ok: true }],
    ['an id of a later request', { id: 1_000_000, ok: true, result: {} }],
    ['a stream that is a list', { stream: [] }],
    ['a stream that is a prototype', { stream: '__proto__', session_id: 's' }],
    ['a stream of its own', { stream: 'stdlog', session_id: 's', data: '' }],
    ['output of a session that nobody knows', { stream: 'stdout', session_id: 'nobody', data: base64('x') }],
    ['an exit of a session that nobody knows', { stream: 'exit', session_id: 'nobody', code: 0 }],
    ['output without a session', { stream: 'stdout', data: base64('x') }],
    ['a lone surrogate', { stream: 'stdout', session_id: '\ud800', data: '' }],
  ])('%s is dropped, and the connection serves on', async (_, frame) => {
    daemon.send(frame);
    expect(await served()).toBe('fine');
  });

  test('prototype keys in a frame are members like any other', async () => {
    daemon.sendText('{"__proto__":{"id":2,"ok":true,"result":{"output":"","code":0}},"constructor":1}');
    const call = refusal(app.sandboxes.exec(handle, 'x', []));
    const { id } = await daemon.next('exec');
    daemon.sendText(`{"id":${id},"ok":true,"__proto__":{"result":{"output":"","code":0}}}`);
    expect(await call).toMatchObject(MALFORMED);
    const names = app.sandboxes.listSessions(handle);
    const { id: next } = await daemon.next('list_sessions');
    daemon.sendText(`{"id":${next},"ok":true,"result":{"__proto__":{"sessions":[]}}}`);
    expect(await refusal(names)).toMatchObject(MALFORMED);
    expect(({} as Record<string, unknown>)['sessions']).toBeUndefined();
    expect(await served()).toBe('fine');
  });

  const BAD_EXECS: [string, unknown][] = [
    ['no result', undefined],
    ['null', null],
    ['a list', []],
    ['a text', 'x'],
    ['no output', { code: 0 }],
    ['output that is a number', { output: 1, code: 0 }],
    ['output that is not base64', { output: '***', code: 0 }],
    ['base64 of a wrong length', { output: 'abc', code: 0 }],
    ['base64 with a hole', { output: 'ab=c', code: 0 }],
    ['base64 of another alphabet', { output: '-_-_', code: 0 }],
    ['no code', { output: '' }],
    ['a code that is null', { output: '', code: null }],
    ['a code that is a text', { output: '', code: '0' }],
    ['a code that is a fraction', { output: '', code: 0.5 }],
    ['a code that is no number', { output: '', code: [] }],
    ['stderr that is not base64', { output: '', code: 0, stderr: '*' }],
  ];
  test.each(BAD_EXECS)('exec answered with %s is malformed_reply, never a result', async (_, result) => {
    const call = refusal(app.sandboxes.exec(handle, 'x', []));
    daemon.send({ id: (await daemon.next('exec')).id, ok: true, ...(result !== undefined && { result }) });
    expect(await call).toEqual({ ...MALFORMED, effect: 'unknown' });
    expect(await served()).toBe('fine');
  });

  test.each<[string, unknown]>([
    ['no result', undefined],
    ['no session_id', {}],
    ['a session_id that is a number', { session_id: 1 }],
    ['an empty session_id', { session_id: '' }],
    ['a session_id of 257 characters', { session_id: 's'.repeat(257) }],
    ['a session_id that is null', { session_id: null }],
  ])('spawn and attach answered with %s are malformed_reply', async (_, result) => {
    const spawn = refusal(app.sandboxes.spawn(handle, 'x', []));
    daemon.send({ id: (await daemon.next('spawn')).id, ok: true, result });
    expect(await spawn).toEqual({ ...MALFORMED, effect: 'unknown' });
    const attach = refusal(app.sandboxes.attach(handle, 's-1'));
    daemon.send({ id: (await daemon.next('attach')).id, ok: true, result });
    expect(await attach).toEqual({ ...MALFORMED, effect: 'none' });
    expect(await served()).toBe('fine');
  });

  test.each<[string, string, unknown, (it: () => SandboxHandle) => Promise<unknown>]>([
    ['get', 'a status that is a number', { status: 1 }, (it) => app.sandboxes.get(it())],
    ['get', 'a path that is a list', { status: 'running', path: [] }, (it) => app.sandboxes.hostPath(it(), '~')],
    ['get', 'no object', [], (it) => app.sandboxes.get(it())],
    ['list', 'no names', {}, () => app.sandboxes.listAllNames('runner')],
    ['list', 'names that are no list', { names: {} }, () => app.sandboxes.listAllNames('runner')],
    ['list', 'names that are numbers', { names: [1] }, () => app.sandboxes.listAllNames('runner')],
    ['list_sessions', 'no sessions', {}, (it) => app.sandboxes.listSessions(it())],
    ['list_sessions', 'sessions without ids', { sessions: [{}] }, (it) => app.sandboxes.listSessions(it())],
    ['list_sessions', 'sessions that are null', { sessions: [null] }, (it) => app.sandboxes.listSessions(it())],
    [
      'list_sessions',
      'tty that is a text',
      { sessions: [{ id: 's', tty: 'no' }] },
      (it) => app.sandboxes.listSessions(it()),
    ],
  ])('%s answered with %s is malformed_reply', async (op, _, result, call) => {
    const answer = refusal(call(() => handle));
    daemon.ok(await daemon.next(op), result);
    expect(await answer).toEqual({ ...MALFORMED, effect: 'none' });
    expect(await served()).toBe('fine');
  });

  test.each<[string, Record<string, unknown>]>([
    ['no ok', {}],
    ['ok that is a text', { ok: 'true' }],
    ['ok that is 1', { ok: 1, result: { output: '', code: 0 } }],
    ['a refusal without a word', { ok: false }],
    ['a refusal whose word is a number', { ok: false, error: 1 }],
    ['a refusal whose detail is an object', { ok: false, error: 'invalid', detail: {} }],
  ])('a reply with %s is malformed_reply', async (_, reply) => {
    const call = refusal(app.sandboxes.exec(handle, 'x', []));
    daemon.send({ id: (await daemon.next('exec')).id, ...reply });
    expect(await call).toEqual({ ...MALFORMED, effect: 'unknown' });
    expect(await served()).toBe('fine');
  });

  test.each<[string, Record<string, unknown>, unknown]>([
    ['not_found', {}, { code: 'not_found', detail: undefined, effect: 'none' }],
    ['invalid', { detail: 'no_such_directory' }, { code: 'invalid', detail: 'no_such_directory', effect: 'none' }],
    ['unavailable', {}, { code: 'unavailable', effect: 'unknown' }],
    ['unavailable', { detail: 'timeout', effect: 'done' }, { code: 'unavailable', detail: 'timeout', effect: 'done' }],
    ['unavailable', { detail: 'timeout', effect: 'perhaps' }, MALFORMED],
    ['write_failed', {}, { code: 'write_failed', effect: 'unknown' }],
    ['not_supported', {}, { code: 'not_supported', detail: undefined, effect: 'none' }],
    ['exploded', { detail: 'of its own' }, { code: 'provider', detail: 'remote' }],
    ['__proto__', {}, { code: 'provider', detail: 'remote' }],
  ])('the word %j with %j is the error that it names', async (error, members, expected) => {
    const call = refusal(app.sandboxes.exec(handle, 'x', []));
    daemon.send({ id: (await daemon.next('exec')).id, ok: false, error, ...members });
    expect(await call).toMatchObject(expected as Record<string, unknown>);
  });

  const BAD_EVENTS: [string, Record<string, unknown>][] = [
    ['an exit without a code', { stream: 'exit' }],
    ['an exit whose code is null', { stream: 'exit', code: null }],
    ['an exit whose code is a text', { stream: 'exit', code: '0' }],
    ['an exit whose code is a fraction', { stream: 'exit', code: 1.5 }],
    ['an exit whose signal is a number', { stream: 'exit', code: 0, signal: 9 }],
    ['output without data', { stream: 'stdout' }],
    ['output whose data is null', { stream: 'stdout', data: null }],
    ['output that is not base64', { stream: 'stdout', data: 'not base64!' }],
    ['output whose offset is negative', { stream: 'stdout', data: '', offset: -1 }],
    ['output whose offset is a text', { stream: 'stdout', data: '', offset: '0' }],
  ];
  test.each(BAD_EVENTS)('%s ends that session with malformed_frame, no other', async (_, event) => {
    const [hurt, fine] = [await spawned('hurt'), await spawned('fine')];
    daemon.send({ stream: 'stdout', session_id: 'hurt', data: base64('whole') });
    daemon.send({ session_id: 'hurt', ...event });
    const end = await settles('the session', hurt.seen);
    expect([words(end.error), end.exit, end.stdout.toString()]).toEqual([
      { code: 'provider', detail: 'malformed_frame', effect: 'unknown' },
      undefined,
      'whole',
    ]);
    daemon.send({ stream: 'stdout', session_id: 'fine', data: base64('fine') });
    daemon.send({ stream: 'exit', session_id: 'fine', code: 4 });
    const other = await fine.seen;
    expect([other.stdout.toString(), other.exit]).toEqual(['fine', { exitCode: 4 }]);
  });

  test('a gap in the offsets ends the session with stream_gap, an overlap is trimmed', async () => {
    // Only daemons that name their instance say offsets.
    await daemon.close();
    await app.offline(RUNNER_ID);
    daemon = await ScriptedDaemon.connect({ url: app.url, token: RUNNER_TOKEN, name: 'hostile', instance: 'one' });
    await app.online(RUNNER_ID);
    const { seen } = await spawned('gap');
    for (const [data, offset] of [
      ['abc', 0],
      ['bcd', 1],
      ['', 4],
      ['efg', 4],
    ] as const) {
      daemon.send({ stream: 'stdout', session_id: 'gap', data: base64(data), offset });
    }
    daemon.send({ stream: 'stdout', session_id: 'gap', data: base64('x'), offset: 8 });
    const end = await seen;
    expect([end.stdout.toString(), words(end.error), end.exit]).toEqual([
      'abcdefg',
      { code: 'provider', detail: 'stream_gap', effect: 'unknown' },
      undefined,
    ]);
  });

  test('frames before the reply, after the exit, and for a replay that nobody asked for do no harm', async () => {
    const spawning = app.sandboxes.spawn(handle, 'x', []);
    const request = await daemon.next('spawn');
    daemon.send({ stream: 'exit', session_id: 'early', code: 0, replay_for: 987_654 });
    daemon.ok(request, { session_id: 'early' });
    daemon.send({ stream: 'stdout', session_id: 'early', data: base64('one') });
    daemon.send({ stream: 'stdout', session_id: 'early', data: base64('FOREIGN'), replay_for: 987_654 });
    daemon.send({ stream: 'exit', session_id: 'early', code: 3, replay_for: 987_654 });
    daemon.send({ stream: 'exit', session_id: 'early', code: 2 });
    daemon.send({ stream: 'stdout', session_id: 'early', data: base64('after') });
    daemon.send({ stream: 'exit', session_id: 'early', code: 1 });
    const end = await collect(await spawning);
    expect([end.stdout.toString(), end.exit]).toEqual(['one', { exitCode: 2 }]);
    expect(await served()).toBe('fine');
  });

  test('replies that come together with the exit are replies all the same', async () => {
    for (const id of ['one', 'two', 'three', 'four', 'five']) {
      const { command, seen } = await spawned(id);
      const write = refusal(command.writeStdin('x'));
      const request = await daemon.next('stdin');
      daemon.sendTogether({ id: request.id, ok: true, result: {} }, { stream: 'exit', session_id: id, code: 3 });
      expect([await write, (await seen).exit]).toEqual([{ resolved: undefined }, { exitCode: 3 }]);
    }
  });

  test('spawn, output and exit that come in one piece are all delivered', async () => {
    const spawning = app.sandboxes.spawn(handle, 'x', []);
    const request = await daemon.next('spawn');
    daemon.sendTogether(
      { id: request.id, ok: true, result: { session_id: 'quick' } },
      { stream: 'stdout', session_id: 'quick', data: base64('out') },
      { stream: 'stderr', session_id: 'quick', data: base64('err') },
      { stream: 'exit', session_id: 'quick', code: 3 },
    );
    const { stdout, stderr, exit } = await collect(await spawning);
    expect([stdout.toString(), stderr.toString(), exit]).toEqual(['out', 'err', { exitCode: 3 }]);
  });

  test('a reply that comes twice answers once', async () => {
    const call = app.sandboxes.exec(handle, 'x', []);
    const request = await daemon.next('exec');
    daemon.ok(request, { output: '', code: 1 });
    daemon.ok(request, { output: '', code: 2 });
    expect((await call).exitCode).toBe(1);
    expect(await served()).toBe('fine');
  });

  test("another runner's session and pending call are out of reach", async () => {
    const theirs = await bystander.pendingExec();
    for (let id = 0; id < 200; id += 1) daemon.send({ id, ok: true, result: { output: base64('forged'), code: 0 } });
    daemon.send({ stream: 'stdout', session_id: bystander.sessionId, data: base64('forged') });
    daemon.send({ stream: 'exit', session_id: bystander.sessionId, code: 0 });
    await daemon.processed();
    expect(await served()).toBe('fine');
    expect(await theirs.finish()).toBe('genuine\n');
    await bystander.isUntouched();
  });

  test('names that are not of this runner do not get into a listing', async () => {
    const listing = app.sandboxes.listAllNames('runner');
    daemon.ok(await daemon.next('list'), { names: [handle.name, bystander.name, 'passwd', '../x', '__proto__'] });
    const seen = await listing.then((names) => names.toSorted(), words);
    expect(seen).toEqual([bystander.name, handle.name].toSorted());
  });

  test('1 000 frames about ids that were never given close the connection with 1008', async () => {
    for (let i = 0; i < 999; i += 1) daemon.send({ id: 1_000_000 + i, ok: true, result: {} });
    expect(await served()).toBe('fine');
    daemon.send({ stream: 'stdout', session_id: 'nobody', data: '' });
    for (let i = 0; i < 5; i += 1) daemon.send({ id: 2_000_000 + i, ok: true, result: {} });
    expect((await settles('the close', daemon.closed)).code).toBe(1008);
  });

  test('2 000 late frames of a session that was, and late replies, do not count', async () => {
    const { seen } = await spawned('was');
    daemon.send({ stream: 'exit', session_id: 'was', code: 0 });
    await seen;
    for (let i = 0; i < 2_000; i += 1) daemon.send({ stream: 'stdout', session_id: 'was', data: base64('late') });
    for (let i = 0; i < 2_000; i += 1) daemon.send({ id: 1, ok: true, result: {} });
    expect(await served()).toBe('fine');
  });

  test('the log names none of what it sent', async () => {
    daemon.sendText('secret-of-the-frame');
    await daemon.closed;
    expect(app.logs.join('\n')).not.toContain('secret-of-the-frame');
  });
});

describe('a hostile platform', () => {
  const NAME = runnerSandboxName(RUNNER_ID);
  let platform: ScriptedPlatform;
  let daemon: DaemonProcess;
  let peer: ScriptedPeer;

  beforeAll(async () => {
    platform = await ScriptedPlatform.listen();
    daemon = await DaemonProcess.launch({ url: platform.url, name: 'main', logLevel: 'debug' });
    peer = await platform.peer('main');
    await peer.ask('create', { name: NAME });
  });

  afterAll(async () => {
    await daemon?.dispose();
    await platform?.close();
  });

  /** The output of an exec: 'fine' while it still serves. */
  async function served(): Promise<string> {
    const { result } = await peer.ask('exec', { name: NAME, cmd: 'printf', args: ['fine'] });
    return Buffer.from(String(result?.['output']), 'base64').toString();
  }

  test('sees the token in a header only', () => {
    const { url, headers } = peer.request;
    expect(url).not.toContain(RUNNER_TOKEN);
    expect(headers.authorization).toBe(`Bearer ${RUNNER_TOKEN}`);
    expect(new URL(url as string, 'http://x').searchParams.get('instance')).toMatch(/./);
  });

  test.each<[string, unknown]>([
    ['an empty object', {}],
    ['an id that is an object', { id: {}, op: 'list' }],
    ['a negative id', { id: -1, op: 'list' }],
    ['an id that is a fraction', { id: 0.5, op: 'list' }],
    ['an unknown op without an id', { op: 'list' }],
    ['id 0, which wants no reply', { id: 0, op: 'list' }],
    ['output', { stream: 'stdout', session_id: 'x', data: '' }],
  ])('%s gets no answer, and the daemon serves on', async (_, frame) => {
    const before = peer.replies.all.length;
    peer.send(frame);
    expect(await served()).toBe('fine');
    expect(peer.replies.all.slice(before)).toHaveLength(1);
  });

  const base = { name: NAME };
  const run = { name: NAME, cmd: 'touch', args: ['ran'] };
  test.each<[string, string, Record<string, unknown>, string]>([
    ['an op of another time', 'terminate', base, 'not_supported'],
    ['an op that is a prototype', '__proto__', base, 'not_supported'],
    ['an op that is a method', 'toString', base, 'not_supported'],
    ['create without a name', 'create', {}, 'invalid'],
    ['create with a name that is a number', 'create', { name: 1 }, 'invalid'],
    ['create with a name that is null', 'create', { name: null }, 'invalid'],
    ['create with a path', 'create', { name: '../escape' }, 'invalid'],
    ['create with the name of the state', 'create', { name: '.runner' }, 'invalid'],
    ['create with a NUL', 'create', { name: `${NAME}\0` }, 'invalid'],
    ['create with an empty name', 'create', { name: '' }, 'invalid'],
    ['create with 10 000 characters', 'create', { name: 'x'.repeat(10_000) }, 'invalid'],
    ['get of nobody', 'get', { name: runnerSandboxName(RUNNER_ID) }, 'not_found'],
    [
      'a name behind a prototype',
      'get',
      JSON.parse('{"__proto__":{"name":"x"}}') as Record<string, unknown>,
      'invalid',
    ],
    ['exec without a cmd', 'exec', { name: NAME, args: [] }, 'invalid'],
    ['exec with args that are a text', 'exec', { ...run, args: 'ran' }, 'invalid'],
    ['exec with args of numbers', 'exec', { ...run, args: [1] }, 'invalid'],
    ['exec with a NUL in args', 'exec', { ...run, args: ['ran', 'a\0b'] }, 'invalid'],
    ['exec with env that is an object', 'exec', { ...run, env: { A: '1' } }, 'invalid'],
    ['exec with env of triples', 'exec', { ...run, env: [['A', '1', '2']] }, 'invalid'],
    ['exec with env of numbers', 'exec', { ...run, env: [['A', 1]] }, 'invalid'],
    ['exec with a NUL in env', 'exec', { ...run, env: [['A', 'a\0b']] }, 'invalid'],
    ['exec with a = in a name of env', 'exec', { ...run, env: [['A=B', 'x']] }, 'invalid'],
    ['exec with an empty name of env', 'exec', { ...run, env: [['', 'x']] }, 'invalid'],
    ['exec with a NUL in dir', 'exec', { ...run, dir: 'a\0b' }, 'invalid'],
    ['exec in a directory that is none', 'exec', { ...run, dir: 'nope' }, 'invalid'],
    ['exec with a timeout that is a text', 'exec', { ...run, timeout_ms: '5' }, 'invalid'],
    ['exec with a negative timeout', 'exec', { ...run, timeout_ms: -1 }, 'invalid'],
    ['exec with an argument of 200 KB', 'exec', { ...run, args: ['ran', 'x'.repeat(200_000)] }, 'invalid'],
    ['exec in a sandbox of nobody', 'exec', { ...run, name: runnerSandboxName(RUNNER_ID) }, 'not_found'],
    ['spawn with stdin that is a text', 'spawn', { ...run, stdin: 'yes' }, 'invalid'],
    ['spawn with args of lists', 'spawn', { ...run, args: [['ran']] }, 'invalid'],
    ['write_file without data', 'write_file', { ...base, path: 'ran' }, 'invalid'],
    ['write_file with data that is not base64', 'write_file', { ...base, path: 'ran', data: '*' }, 'invalid'],
    ['write_file with a NUL in path', 'write_file', { ...base, path: 'a\0b', data: '' }, 'invalid'],
    ['write_file with an empty path', 'write_file', { ...base, path: '', data: '' }, 'invalid'],
    ['write_file out of the sandbox', 'write_file', { ...base, path: '../ran', data: '' }, 'invalid'],
    ['write_file to an absolute path', 'write_file', { ...base, path: '/tmp/ran', data: '' }, 'invalid'],
    [
      'write_file with a mode that is a text',
      'write_file',
      { ...base, path: 'ran', data: '', mode: '0755' },
      'invalid',
    ],
    ['write_file with setuid', 'write_file', { ...base, path: 'ran', data: '', mode: 0o4755 }, 'invalid'],
    ['write_file with a negative mode', 'write_file', { ...base, path: 'ran', data: '', mode: -1 }, 'invalid'],
    ['stdin without a session', 'stdin', { ...base, data: '' }, 'invalid'],
    ['stdin of nobody', 'stdin', { ...base, session_id: 's-nobody', data: '' }, 'not_found'],
    ['stdin of a path', 'stdin', { ...base, session_id: '../../x', data: '' }, 'not_found'],
    ['stdin_close of nobody', 'stdin_close', { ...base, session_id: 's-nobody' }, 'not_found'],
    ['attach without a session', 'attach', base, 'invalid'],
    ['attach with an empty session', 'attach', { ...base, session_id: '' }, 'invalid'],
    ['attach with a session that is a number', 'attach', { ...base, session_id: 1 }, 'invalid'],
    ['attach with 257 characters', 'attach', { ...base, session_id: 's'.repeat(257) }, 'invalid'],
    ['attach to nobody', 'attach', { ...base, session_id: 's-nobody' }, 'not_found'],
    ['attach to a prototype', 'attach', { ...base, session_id: '__proto__' }, 'not_found'],
    ['attach from a text', 'attach', { ...base, session_id: 's-nobody', from: 'start' }, 'invalid'],
    [
      'attach from a negative offset',
      'attach',
      { ...base, session_id: 's-nobody', from: { stdout: -1, stderr: 0 } },
      'invalid',
    ],
    ['list_sessions of nobody', 'list_sessions', { name: runnerSandboxName(RUNNER_ID) }, 'not_found'],
  ])('%s', async (_, op, body, word) => {
    const reply = await peer.ask(op, body);
    expect({ ok: reply.ok, error: reply.error }).toEqual({ ok: false, error: word });
    const listing = await peer.ask('exec', { name: NAME, cmd: 'ls', args: ['-A'] });
    expect(listing.result).toMatchObject({ output: '', code: 0 });
  });

  test('null is absent, and unknown members are ignored', async () => {
    const reply = await peer.ask('exec', {
      name: NAME,
      cmd: 'echo',
      args: ['x'],
      env: null,
      dir: null,
      timeout_ms: null,
      max_output_bytes: null,
      stderr_to_stdout: null,
      color: 'blue',
    });
    expect(reply).toMatchObject({ ok: true, result: { output: base64('x\n'), code: 0 } });
  });

  test('a session of one sandbox cannot be reached from another', async () => {
    const other = runnerSandboxName(RUNNER_ID);
    await peer.ask('create', { name: other });
    const spawned = await peer.ask('spawn', { name: NAME, cmd: 'cat', args: [], stdin: true, detachable: true });
    const session_id = spawned.result?.['session_id'] as string;
    for (const [op, more] of [
      ['stdin', { data: base64('x') }],
      ['stdin_close', {}],
      ['attach', {}],
    ] as const) {
      expect([op, await peer.ask(op, { name: other, session_id, ...more })]).toEqual([
        op,
        expect.objectContaining({ ok: false, error: 'not_found' }),
      ]);
    }
    await peer.ask('stdin_close', { name: NAME, session_id });
    expect(await peer.exit(session_id)).toMatchObject({ code: 0 });
    expect(peer.output(session_id, 'stdout').byteLength).toBe(0);
    await peer.ask('destroy', { name: other });
  });

  test('detach without a name and with id 0 is done, and not answered', async () => {
    const spawned = await peer.ask('spawn', { name: NAME, cmd: 'cat', args: [], stdin: true, detachable: true });
    const session_id = spawned.result?.['session_id'] as string;
    peer.send({ id: 0, op: 'detach', session_id });
    await peer.ask('stdin', { name: NAME, session_id, data: base64('unheard') });
    await peer.ask('stdin_close', { name: NAME, session_id });
    await until('the session has ended', async () => {
      const listed = await peer.ask('list_sessions', { name: NAME });
      return JSON.stringify(listed.result) === '{"sessions":[]}';
    });
    expect(peer.events.all.filter((event) => event.session_id === session_id)).toEqual([]);
    expect(peer.replies.all.filter((reply) => reply.id === 0)).toEqual([]);
    const attached = await peer.ask('attach', { session_id, name: NAME });
    await peer.exit(session_id);
    expect(peer.output(session_id, 'stdout', attached.id).toString()).toBe('unheard');
  });

  test('requests at once of one session keep their order', async () => {
    const spawned = await peer.ask('spawn', { name: NAME, cmd: 'cat', args: [], stdin: true });
    const session_id = spawned.result?.['session_id'] as string;
    const pieces = Array.from({ length: 500 }, (_, i) => `${i},`);
    for (const piece of pieces) peer.send({ id: 0, op: 'stdin', name: NAME, session_id, data: base64(piece) });
    peer.send({ id: 0, op: 'stdin_close', name: NAME, session_id });
    await peer.exit(session_id);
    expect(peer.output(session_id, 'stdout').toString()).toBe(pieces.join(''));
  });

  test('200 000 nested lists in a member are refused', async () => {
    peer.socket.send(`{"id":900001,"op":"spawn","name":"${NAME}","cmd":"touch","args":["ran",${NESTED}]}`);
    expect(await peer.reply(900_001)).toMatchObject({ ok: false, error: 'invalid' });
    expect(await served()).toBe('fine');
  });

  test.each([
    ['null', 'null'],
    ['an array', '[]'],
    ['a text', '"x"'],
    ['an empty frame', ''],
    ['200 000 nested arrays', NESTED],
    ['a binary frame', Buffer.from('{"id":1,"op":"list"}')],
  ])('%s closes with 1003, and the daemon lives on', async (_, frame) => {
    const name = randomUUID();
    await using own = await DaemonProcess.launch({ url: platform.url, name });
    const itsPeer = await platform.peer(name);
    itsPeer.socket.send(frame);
    expect((await settles('the close', itsPeer.closed)).code).toBe(1003);
    expect(own.ended).toBeUndefined();
  });

  test('after a frame that is not JSON the daemon dials again, and what ran runs on', async () => {
    await using own = await DaemonProcess.launch({ url: platform.url, name: 'redials' });
    const first = await platform.peer('redials');
    const name = runnerSandboxName(RUNNER_ID);
    await first.ask('create', { name });
    const spawned = await first.ask('spawn', { name, cmd: 'cat', args: [], stdin: true, detachable: true });
    first.socket.send('not json');
    expect((await settles('the close', first.closed)).code).toBe(1003);
    const second = await platform.peer('redials');
    const listed = await second.ask('list_sessions', { name });
    expect(listed.result).toMatchObject({ sessions: [{ id: spawned.result?.['session_id'] }] });
    expect(own.ended).toBeUndefined();
  });

  test('the daemon never died or wrote what it was sent', () => {
    expect(daemon.ended).toBeUndefined();
    expect(daemon.stderr + daemon.stdout).not.toMatch(/not json|unheard|TypeError|at .*\.js:\d+/);
  });
});

/** A real daemon of another runner on the same gateway, with a session that counts while the others misbehave. */
class Bystander {
  #line = 0;

  private constructor(
    readonly app: TestApp,
    readonly daemon: DaemonProcess,
    readonly handle: SandboxHandle,
    readonly command: SandboxCommand,
    readonly lines: AsyncIterator<string>,
  ) {}

  static async start(app: TestApp): Promise<Bystander> {
    const daemon = await DaemonProcess.launch({ url: app.url, token: OTHER_RUNNER_TOKEN, name: 'bystander' });
    await app.online(OTHER_RUNNER_ID);
    const handle = await app.sandboxes.create('runner', runnerSandboxName(OTHER_RUNNER_ID));
    const command = await app.sandboxes.spawn(handle, 'cat', [], { stdin: true });
    return new Bystander(app, daemon, handle, command, linesOf(command));
  }

  get name(): string {
    return this.handle.name;
  }

  get sessionId(): string {
    return this.command.sessionId as string;
  }

  /** Its session echoes one more line, and nothing but that. @throws when it does not */
  async isUntouched(): Promise<void> {
    this.#line += 1;
    await this.command.writeStdin(`line ${this.#line}\n`);
    const { value } = await settles('the bystander', this.lines.next());
    if (value !== `line ${this.#line}`) throw new Error(`the bystander read ${JSON.stringify(value)}`);
  }

  /** An exec that is on its way until `finish`, which gives its output. */
  async pendingExec(): Promise<{ finish(): Promise<string> }> {
    await this.app.sandboxes.exec(this.handle, 'rm', ['-f', 'go']);
    const call = this.app.sandboxes.exec(this.handle, 'bash', [
      '-c',
      'until [ -e go ]; do sleep 0.02; done; echo genuine',
    ]);
    return {
      finish: async () => {
        await this.app.sandboxes.writeFile(this.handle, 'go', '');
        return (await call).text();
      },
    };
  }

  /** Its session ends as it should. @throws when it does not */
  async finish(): Promise<void> {
    await this.command.closeStdin();
    const { done, value } = await this.lines.next();
    const { exitCode } = await this.command.exit;
    await this.daemon.dispose();
    if (!done || exitCode !== 0) throw new Error(`the bystander ended with ${exitCode} after ${JSON.stringify(value)}`);
  }
}

async function* linesOf(command: SandboxCommand): AsyncGenerator<string> {
  let rest = '';
  for await (const frame of command) {
    if (frame.type === 'exit') continue;
    rest += Buffer.from(frame.data).toString();
    const lines = rest.split('\n');
    rest = lines.pop() as string;
    yield* lines;
  }
  if (rest !== '') yield rest;
}
