import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Logger } from '@nestjs/common';
import { describe, expect, jest, test } from '@jest/globals';
import { redirectTo, type Fault, type SpritesEmulator, type SpritesEmulatorOptions } from '#libs/emulators';
import { sandboxHandle } from '#libs/contract';
import { collect } from '../support/collect.js';
import { refusal } from '../support/errors.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { settles, until } from '../support/until.js';
import { SpritesAdapter } from '../../src/adapters/sprites/sprites.adapter.js';
import { SpritesOptions } from '../../src/adapters/sprites/sprites.options.js';
import { closing, openSprites } from './open-sprites.js';

const sh = (script: string): [string, string[]] => ['sh', ['-c', script]];
const pidOf = ({ sessionId }: { readonly sessionId?: string }): number => Number(sessionId?.split('-')[0]);
const ndjson = (...lines: object[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const posts = ({ calls }: SpritesEmulator, path: string | RegExp): number =>
  calls.matching({ method: 'POST', path }).length;

/** In buffers that somebody still holds, whenever each version of Node collects the others. */
function heldBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().arrayBuffers;
}

describe('creating a sprite', () => {
  test('adopts one that exists, and a new one is refused', async () => {
    const { emulator, adapter, box } = await openSprites();
    expect(await adapter.create('box')).toEqual(box);
    expect(await refusal(adapter.createNew('box'))).toMatchObject({ code: 'already_exists', effect: 'none' });
    const fresh = await adapter.createNew('fresh');
    expect(fresh).toEqual(sandboxHandle('sprites', 'fresh', emulator.sprite('fresh')?.id));
  });

  test.each<[string, Partial<Fault>]>([
    ['answers 500 although it made it', { answer: { status: 500, text: '<html>' }, effect: 'applied' }],
    ['answers 502 and made nothing', { answer: { status: 502 } }],
    ['loses the connection after it was made', { reset: true, effect: 'applied' }],
    ['answers 429 first', { answer: { status: 429, json: { retry_after_seconds: 0.01 } } }],
  ])('by name succeeds when the service %s', async (_, fault) => {
    const { emulator, adapter } = await openSprites();
    emulator.faults.add({ method: 'POST', path: '/v1/sprites', ...fault });
    expect(await adapter.create('other')).toEqual({ provider: 'sprites', name: 'other' });
    expect(emulator.names).toContain('other');
  });

  test.each<[string, Partial<Fault>, object]>([
    ['answers 500', { answer: { status: 500 }, effect: 'applied' }, { code: 'unavailable', effect: 'unknown' }],
    ['loses the connection', { reset: true, effect: 'applied' }, { code: 'unavailable', effect: 'unknown' }],
    ['redirects', { answer: redirectTo('http://127.0.0.1:9/') }, { code: 'unavailable', effect: 'unknown' }],
    [
      'names another',
      { answer: { status: 201, json: { name: 'x', id: 'y' } } },
      { code: 'unavailable', effect: 'unknown' },
    ],
    ['tells no id', { answer: { status: 201, json: { name: 'new' } } }, { code: 'unavailable', effect: 'unknown' }],
    ['answers HTML', { answer: { status: 200, text: '<html>' } }, { code: 'unavailable', effect: 'unknown' }],
    [
      'says too much',
      { answer: { status: 201, text: 'x'.repeat(70_000) } },
      { code: 'unavailable', effect: 'unknown' },
    ],
    ['answers too late', { delayMs: Infinity }, { code: 'unavailable', effect: 'unknown' }],
    ['refuses the name', { answer: { status: 400 } }, { code: 'invalid', effect: 'none' }],
    ['answers 429', { answer: { status: 429 } }, { code: 'rate_limited', effect: 'none' }],
    ['answers 401', { answer: { status: 401 } }, { code: 'denied', effect: 'none' }],
  ])('of which the name is new is asked for once when the service %s', async (_, fault, expected) => {
    const { emulator, adapter } = await openSprites({}, { timeoutMs: 400 });
    emulator.faults.add({ method: 'POST', path: '/v1/sprites', ...fault });
    expect(await refusal(adapter.createNew('new'))).toMatchObject(expected);
    expect(posts(emulator, '/v1/sprites')).toBe(1);
  });

  test('of which nobody can say whether the name is taken is not refused as wrong', async () => {
    const { emulator, adapter } = await openSprites();
    emulator.faults.add({ method: 'POST', path: '/v1/sprites', answer: { status: 400 }, times: 2 });
    const look = emulator.faults.add({ method: 'GET', path: '/v1/sprites/box', answer: { status: 503 }, times: 4 });
    expect(await refusal(adapter.createNew('box'))).toMatchObject({ code: 'unavailable', effect: 'none' });
    expect(posts(emulator, '/v1/sprites')).toBe(1);
    look.remove();
    emulator.faults.add({ method: 'GET', path: '/v1/sprites/box', answer: { status: 503 }, times: 4 });
    expect(await adapter.create('box')).toEqual({ provider: 'sprites', name: 'box' });
  });

  test('a URL that cannot be opened is logged and no failure', async () => {
    const { emulator, adapter } = await openSprites({}, { publicUrls: false });
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => {});
    const opening = new SpritesAdapter(
      new SpritesOptions({ token: emulator.token, baseUrl: emulator.url, retryBaseMs: 2 }),
    );
    emulator.faults.add({ method: 'PUT', path: '/v1/sprites/box', answer: { status: 403 } });
    await opening.create('box');
    expect(warn.mock.calls).toEqual([
      ["the URL of sprite 'box' could not be made public: the Sprites API answered 403"],
    ]);
    warn.mockRestore();
    const box = adapter.buildHandle('box');
    expect(await refusal(adapter.publicUrl(box, { port: 8080 }))).toMatchObject({ code: 'not_supported' });
    await opening.create('box');
    expect(await adapter.publicUrl(box, { port: 8080 })).toMatch(/^https:\/\//);
    expect(await refusal(adapter.publicUrl(box, { port: 3000 }))).toMatchObject({ code: 'not_supported' });
  });
});

describe('finding and deleting sprites', () => {
  test.each<[string, Fault['answer']]>([
    ['a page of a gateway', { status: 404, html: '<html>nothing here</html>' }],
    ['a server that knows no such path', { status: 404, text: '404 page not found\n' }],
  ])('%s is no word of the service', async (_, answer) => {
    const { emulator, adapter, box } = await openSprites();
    emulator.faults.add({ path: '/v1/sprites/box', answer, times: 99 });
    const said = { code: 'provider', detail: 'malformed_reply' };
    expect(await refusal(adapter.get(box))).toMatchObject({ ...said, effect: 'none' });
    expect(await refusal(adapter.resume(box))).toMatchObject(said);
    expect(await refusal(adapter.destroy(box))).toMatchObject({ ...said, effect: 'unknown' });
    expect(emulator.names).toEqual(['box']);
  });

  test('only a 404 is not_found', async () => {
    const { emulator, adapter, box } = await openSprites();
    expect(await refusal(adapter.get(adapter.buildHandle('none')))).toMatchObject({ code: 'not_found' });
    for (const [answer, code] of [
      [{ status: 500 }, 'unavailable'],
      [{ status: 401 }, 'denied'],
      [{ status: 200, json: { name: 'other' } }, 'provider'],
    ] as const) {
      const fault = emulator.faults.add({ method: 'GET', path: '/v1/sprites/box', answer, times: 20 });
      expect(await refusal(adapter.get(box))).toMatchObject({ code, effect: 'none' });
      fault.remove();
    }
    expect(await adapter.get(box)).toMatchObject({ status: 'suspended', raw: { status: 'cold' } });
    await adapter.exec(box, 'true');
    expect(await adapter.get(box)).toMatchObject({ status: 'running' });
    await emulator.pause('box', 'warm');
    expect(await adapter.get(box)).toMatchObject({ status: 'suspended', raw: { status: 'warm' } });
  });

  test('every page of the listing is read, or none is given', async () => {
    const { emulator, adapter } = await openSprites({ pageSize: 2 });
    for (const name of ['a', 'b', 'c', 'd']) await adapter.create(name);
    expect((await adapter.listAllNames()).toSorted()).toEqual(['a', 'b', 'box', 'c', 'd']);
    emulator.faults.add({ method: 'GET', path: '/v1/sprites', nth: 2, times: 20, answer: { status: 500 } });
    expect(await refusal(adapter.listAllNames())).toMatchObject({ code: 'unavailable' });
    emulator.faults.clear();
    const again = { sprites: [{ name: 'x' }], has_more: true, next_continuation_token: 't' };
    emulator.faults.add({ method: 'GET', path: '/v1/sprites', times: 9, answer: { status: 200, json: again } });
    expect(await refusal(adapter.listAllNames())).toMatchObject({ code: 'truncated', effect: 'none' });
  });

  test('a delete that answers 500 is repeated, and proved by a 404', async () => {
    const { emulator, adapter, box } = await openSprites();
    emulator.faults.add({ method: 'DELETE', answer: { status: 500 }, effect: 'applied' });
    await adapter.destroy(box);
    expect(emulator.names).toEqual([]);
    await adapter.destroy(box);
    expect(await refusal(adapter.get(box))).toMatchObject({ code: 'not_found' });
  });

  test('a delete that changes nothing is not believed', async () => {
    const { emulator, adapter, box } = await openSprites();
    emulator.faults.add({ method: 'DELETE', answer: { status: 204 } });
    expect(await refusal(adapter.destroy(box))).toMatchObject({ code: 'unavailable', effect: 'unknown' });
  });

  test('a handle of another incarnation restores and terminates nothing, and for destroy it is gone', async () => {
    const { emulator, adapter } = await openSprites({}, { checkpointCreationEnabled: true });
    const old = sandboxHandle('sprites', 'box', 'sprite-of-before');
    expect(await refusal(adapter.get(old))).toMatchObject({ code: 'not_found' });
    await adapter.destroy(old);
    expect(await refusal(adapter.restoreCheckpoint(old, 'v1'))).toMatchObject({ code: 'not_found', effect: 'none' });
    const session = `1-${'a'.repeat(32)}`;
    expect(await refusal(adapter.terminateSession(old, session))).toMatchObject({ code: 'not_found', effect: 'none' });
    expect(emulator.calls.all.every(({ method }) => method === 'GET')).toBe(true);
    expect(emulator.names).toEqual(['box']);
  });
});

describe('the credential', () => {
  test('without one every call is denied and nothing is sent', async () => {
    const { emulator } = await openSprites();
    const token = process.env['SPRITES_TOKEN'];
    delete process.env['SPRITES_TOKEN'];
    const adapter = new SpritesAdapter(new SpritesOptions({ baseUrl: emulator.url }));
    if (token !== undefined) process.env['SPRITES_TOKEN'] = token;
    const box = adapter.buildHandle('box');
    for (const call of [() => adapter.get(box), () => adapter.exec(box, 'true'), () => adapter.spawn(box, 'true')]) {
      expect(await refusal(call())).toMatchObject({ code: 'denied', effect: 'none' });
    }
    expect(emulator.calls.all).toEqual([]);
  });

  test('shows in no print of the adapter, its options or its errors', async () => {
    const { emulator, adapter, box } = await openSprites();
    const options = new SpritesOptions({ token: emulator.token });
    emulator.faults.add({ times: 99, answer: { status: 500, text: emulator.token } });
    const errors = await Promise.all(
      [adapter.get(box), adapter.exec(box, 'true'), adapter.createNew('n')].map((call) =>
        call.catch((e: unknown) => e),
      ),
    );
    const text =
      inspect([options, adapter, errors], { depth: 20, showHidden: true }) + JSON.stringify([options, errors]);
    expect(text).not.toContain(emulator.token);
    expect(text).toContain('[secret]');
  });

  test('goes to no other host', async () => {
    const { emulator, adapter, box } = await openSprites();
    const other = await openSprites({ token: 'other' });
    emulator.faults.add({ times: 99, answer: redirectTo(`${other.emulator.url}/v1/sprites/box`) });
    expect(await refusal(adapter.get(box))).toMatchObject({ code: 'provider' });
    expect(await refusal(adapter.exec(box, 'true'))).toMatchObject({ code: 'provider', effect: 'none' });
    expect(other.emulator.calls.all).toEqual([]);
  });
});

describe('starting commands', () => {
  test.each([404, 429, 503, 500])('an upgrade that is refused with %p ran nothing', async (status) => {
    const { emulator, adapter, box } = await openSprites();
    emulator.faults.add({ upgrade: true, answer: { status }, times: 9, effect: 'applied' });
    expect(await refusal(adapter.exec(box, ...sh('touch ran')))).toMatchObject({ effect: 'none' });
    expect(await refusal(adapter.spawn(box, ...sh('touch ran')))).toMatchObject({ effect: 'none' });
    expect(emulator.calls.all).toHaveLength(2);
    emulator.faults.clear();
    expect(await refusal(adapter.statFile(box, 'ran'))).toMatchObject({ code: 'not_found' });
  });

  test('a connection that is cut while a command runs leaves its exit open, and the command is stopped', async () => {
    const { emulator, adapter, box } = await openSprites();
    const running = refusal(adapter.exec(box, ...sh('echo up >up; sleep 20')));
    await until('it runs', () =>
      adapter.readFile(box, 'up').then(
        ({ length }) => length,
        () => 0,
      ),
    );
    await emulator.pause('box', 'warm');
    expect(await settles('the exec', running)).toEqual({
      code: 'unavailable',
      detail: 'closed_before_exit',
      effect: 'done',
    });
  });

  test('a detachable command goes on over a pause, byte by byte', async () => {
    const { emulator, adapter, box } = await openSprites();
    const command = await adapter.spawn(box, ...sh('echo one; sleep 0.4; echo two; sleep 0.4; exit 8'), {
      detachable: true,
    });
    await until('one line came', () => command.outputBytes === 4);
    await emulator.pause('box', 'warm');
    const { stdout, exit } = await settles('the command', collect(command));
    expect([stdout.toString(), exit]).toEqual(['one\ntwo\n', { exitCode: 8 }]);
  });

  test('a session that was stopped with its machine is lost, never an exit', async () => {
    const { emulator, adapter, box } = await openSprites();
    const command = await adapter.spawn(box, ...sh('echo one; sleep 60'), { detachable: true });
    await until('one line came', () => command.outputBytes === 4);
    await emulator.pause('box', 'cold');
    const { stdout, error } = await settles('the command', collect(command));
    expect(stdout.toString()).toBe('one\n');
    expect(error).toMatchObject({ code: 'unavailable', detail: 'session_lost' });
    const again = await settles('the attach', collect(await adapter.attach(box, command.sessionId as string)));
    expect(again.error).toMatchObject({ code: 'unavailable', detail: 'session_lost' });
  });

  test.each<[string, Partial<SpritesEmulatorOptions>]>([
    ['stderr comes on stdout', { alternatives: { stderrStream: 'stdout' } }],
    ['the environment is added to', { alternatives: { env: 'adds' } }],
    ['ids are numbers and a debug frame comes first', { alternatives: { sessionId: 'number', debugFrame: true } }],
    ['the exit comes before the output', { alternatives: { textExit: 'at_exit' } }],
    ['the client is attached late', { attachDelayMs: 150, earlyBytes: 16 }],
    ['lists are bare', { alternatives: { sessionList: 'array', sessionCreated: 'iso' } }],
  ])('output is exact where %s', async (_, options) => {
    const { adapter, box } = await openSprites(options);
    const script = 'printf "%s" "$V"; printf err >&2; head -c 100000 /dev/zero; exit 3';
    const env = { V: "a b'c" };
    const { output, stderr, exitCode } = await adapter.exec(box, ...sh(script), { env });
    expect([output.byteLength, Buffer.from(stderr ?? []).toString(), exitCode]).toEqual([100_005, 'err', 3]);
    const spawned = await adapter.spawn(box, ...sh(script), { env, detachable: true });
    const seen = await settles('the command', collect(spawned));
    expect([seen.stdout.byteLength, seen.stderr.toString(), seen.exit]).toEqual([100_005, 'err', { exitCode: 3 }]);
  });

  test('arguments beyond what a URL holds arrive, and beyond what a machine takes are refused', async () => {
    const { adapter, box } = await openSprites();
    const long = 'y'.repeat(120_000);
    const { output } = await adapter.exec(box, 'printf', ['%s', long], { env: { E: long } });
    expect(output.byteLength).toBe(120_000);
    expect(await refusal(adapter.exec(box, 'true', ['y'.repeat(131_072)]))).toEqual({
      code: 'invalid',
      detail: 'argument_list_too_long',
      effect: 'none',
    });
  });

  test('output beyond the limit stops the command', async () => {
    const { emulator, adapter, box } = await openSprites();
    expect(await refusal(adapter.exec(box, 'yes', [], { maxOutputBytes: 100_000 }))).toEqual({
      code: 'truncated',
      detail: 'output_limit',
      effect: 'done',
    });
    await until('nothing runs', () => emulator.sprite('box')?.pids.length === 0);
  });

  test('a newer attach owns stdin', async () => {
    const { adapter, box } = await openSprites();
    const first = await adapter.spawn(box, 'cat', [], { stdin: true, detachable: true });
    const second = await adapter.attach(box, first.sessionId as string, { stdin: true });
    expect(await refusal(first.writeStdin('no'))).toMatchObject({ code: 'invalid', detail: 'stdin_not_open' });
    await second.writeStdin('yes');
    await second.closeStdin();
    const { stdout, exit } = await settles('the command', collect(second));
    expect([stdout.toString(), exit]).toEqual(['yes', { exitCode: 0 }]);
    await first.stop();
    const closed = await adapter.spawn(box, ...sh('sleep 20'), { detachable: true });
    expect(await refusal(adapter.attach(box, closed.sessionId as string, { stdin: true }))).toMatchObject({
      code: 'invalid',
      detail: 'stdin_not_open',
    });
    await adapter.terminateSession(box, closed.sessionId as string, { mode: 'force' });
  });

  test('stdin goes on over a lost connection when nothing was on its way', async () => {
    const { emulator, box } = await openSprites();
    const proxy = await TcpProxy.listen(Number(new URL(emulator.url).port));
    closing.unshift(() => proxy.close());
    const adapter = new SpritesAdapter(new SpritesOptions({ token: emulator.token, baseUrl: proxy.url }));
    const command = await adapter.spawn(box, 'cat', [], { stdin: true, detachable: true });
    await command.writeStdin('before ');
    const connections = (): number => emulator.calls.matching({ upgrade: true }).length;
    const before = connections();
    proxy.cut();
    await until('its output is read on', () => connections() > before);
    await settles('a write', command.writeStdin('and after'));
    await command.closeStdin();
    const { stdout, exit } = await settles('the command', collect(command));
    expect([stdout.toString(), exit]).toEqual(['before and after', { exitCode: 0 }]);
  });

  test('output that nobody reads is kept in the sprite, not here', async () => {
    const { emulator, box } = await openSprites();
    const proxy = await TcpProxy.listen(Number(new URL(emulator.url).port));
    closing.unshift(() => proxy.close());
    const adapter = new SpritesAdapter(new SpritesOptions({ token: emulator.token, baseUrl: proxy.url }));
    const before = heldBytes();
    const command = await adapter.spawn(box, ...sh('yes | head -c 40000000; exec sleep 60'));
    await until('much has come here', () => proxy.forwardedBytes > 32 * 1024 * 1024, { withinMs: 50_000 });
    // Node counts what was collected for a while yet.
    await until('little is held', () => heldBytes() - before < 16 * 1024 * 1024);
    const journal = ['-c', 'cd ~/.nestjs-sandbox/runs && cat */out | wc -c'];
    const keptBytes = async (): Promise<number> => Number((await adapter.exec(box, 'sh', journal)).text());
    await until('all is kept', async () => (await keptBytes()) >= 40_000_000);
    expect(await keptBytes()).toBe(40_000_000);
    await command.stop();
  });

  test('a terminal is attached only from now on', async () => {
    const { adapter, box } = await openSprites();
    const first = await adapter.spawn(box, ...sh('read -r x; echo "got $x"'), {
      tty: true,
      stdin: true,
      detachable: true,
    });
    const id = first.sessionId as string;
    expect(await refusal(adapter.attach(box, id))).toMatchObject({ code: 'truncated', detail: 'replay_evicted' });
    const second = await adapter.attach(box, id, { from: 'now', stdin: true });
    await second.writeStdin('it\n');
    const { stdout, exit } = await settles('the command', collect(second));
    expect(stdout.toString()).toContain('got it');
    expect(exit).toEqual({ exitCode: 0 });
    await first.stop();
  });

  test('a session that others started is listed as it is and left alone', async () => {
    const { emulator, adapter, box } = await openSprites();
    const json = {
      count: 1,
      sessions: [{ id: '77', command: '/usr/bin/vi', created: '2026-01-01T00:00:00Z', tty: true }],
    };
    const path = '/v1/sprites/box/exec';
    emulator.faults.add({ method: 'GET', upgrade: false, path, answer: { status: 200, json }, times: 3 });
    expect(await adapter.listSessions(box)).toMatchObject([{ id: '77', command: '/usr/bin/vi', tty: true }]);
    expect(await refusal(adapter.terminateSession(box, '77'))).toMatchObject({ code: 'not_supported', effect: 'none' });
    expect(await refusal(adapter.attach(box, '77'))).toMatchObject({ code: 'not_supported', effect: 'none' });
  });

  test('an abort ends the call at every stage', async () => {
    const { emulator, adapter, box } = await openSprites();
    emulator.faults.add({ upgrade: true, delayMs: Infinity });
    const early = new AbortController();
    const waiting = refusal(adapter.spawn(box, 'true', [], { signal: early.signal }));
    await emulator.calls.arrived({ upgrade: true });
    early.abort();
    expect(await settles('the spawn', waiting)).toMatchObject({ code: 'aborted', effect: 'none' });
    const late = new AbortController();
    const running = refusal(adapter.exec(box, ...sh('echo up >up2; sleep 30'), { signal: late.signal }));
    await until('it runs', () =>
      adapter.readFile(box, 'up2').then(
        ({ length }) => length,
        () => 0,
      ),
    );
    late.abort();
    expect(await settles('the exec', running)).toMatchObject({ code: 'aborted', effect: 'done' });
  });
});

describe('terminating a session', () => {
  const KILL = /\/kill$/;
  const unknown = { code: 'unavailable', effect: 'unknown' };
  const exited = { type: 'exited' };
  const complete = { type: 'complete', exit_code: 137 };
  const says = (...lines: object[]): Partial<Fault> => ({ answer: { status: 200, text: ndjson(...lines) } });

  test.each<[string, (signal: object, pid: number) => Partial<Fault>]>([
    ['no end', (signal) => says(signal, exited)],
    ['no exited', (signal) => says(signal, complete)],
    ['no signal', () => says(exited, complete)],
    ['another signal', (signal) => says({ ...signal, signal: 'SIGTERM' }, exited, complete)],
    ['no process', (signal) => says({ ...signal, pid: undefined }, exited, complete)],
    ['another process', (signal, pid) => says({ ...signal, pid: pid + 1 }, exited, complete)],
    ['an error', (signal) => says(signal, exited, { type: 'error' }, complete)],
    ['an end before the end', (signal) => says(signal, complete, exited)],
    ['two ends', (signal) => says(signal, exited, complete, complete)],
    ['a pid that is no number', (signal, pid) => says({ ...signal, pid: String(pid) }, exited, complete)],
    ['a fractional exit', (signal) => says(signal, exited, { type: 'complete', exit_code: 1.5 })],
    ['a line that is no JSON', (signal) => ({ answer: { status: 200, text: `${ndjson(signal, exited, complete)}x` } })],
    ['too much', (signal) => says(signal, exited, { ...complete, x: 'y'.repeat(17_000) })],
    ['nothing', () => ({ answer: { status: 200 } })],
    ['another success', (signal) => ({ answer: { status: 202, text: ndjson(signal, exited, complete) } })],
    ['a redirect', () => ({ answer: redirectTo('http://127.0.0.1:9/') })],
    ['a 500', () => ({ answer: { status: 500 } })],
    ['a 404', () => ({ answer: { status: 404 } })],
    ['a reset', () => ({ reset: true })],
    ['half a body', () => ({ truncateAt: 20 })],
  ])('by force is not confirmed by %s, and asked for once', async (_, faultOf) => {
    const { emulator, adapter, box } = await openSprites();
    const command = await adapter.spawn(box, 'sleep', ['60'], { detachable: true });
    const pid = pidOf(command);
    const fault = faultOf({ type: 'signal', signal: 'SIGKILL', pid }, pid);
    emulator.faults.add({ method: 'POST', path: KILL, ...fault });
    const stop = adapter.terminateSession(box, command.sessionId as string, { mode: 'force' });
    expect(await refusal(stop)).toMatchObject(unknown);
    expect(posts(emulator, KILL)).toBe(1);
    expect(emulator.names).toEqual(['box']);
    await command.stop();
  });

  test('is confirmed by lines about its process, and not by those about another', async () => {
    const { emulator, adapter, box } = await openSprites();
    const command = await adapter.spawn(box, 'sleep', ['60'], { detachable: true });
    const id = command.sessionId as string;
    const signal = { type: 'signal', signal: 'SIGTERM', pid: pidOf(command) };
    const other = { ...signal, pid: pidOf(command) + 1 };
    const kill = (...lines: object[]): Promise<void> => {
      emulator.faults.add({ method: 'POST', path: KILL, ...says(...lines) });
      return adapter.terminateSession(box, id);
    };
    expect(await refusal(kill(other, exited, complete))).toMatchObject(unknown);
    await kill(signal, other, exited, complete);
    await kill(exited, complete);
    await kill({ ...signal, pid: String(signal.pid) }, exited, complete);
    await command.stop();
  });

  test.each<[string, Fault['answer']]>([
    ['a page with 404', { status: 404, html: '<html>nothing here</html>' }],
    ['a page with 410', { status: 410, html: '<html>nothing here</html>' }],
    ['the 404 of another server', { status: 404, text: '404 page not found\n' }],
  ])('is not confirmed by %s while the session is listed', async (_, answer) => {
    const { emulator, adapter, box } = await openSprites();
    const command = await adapter.spawn(box, 'sleep', ['60'], { detachable: true });
    emulator.faults.add({ method: 'POST', path: KILL, answer });
    expect(await refusal(adapter.terminateSession(box, command.sessionId as string))).toMatchObject(unknown);
    expect(await adapter.listSessions(box)).toHaveLength(1);
    await command.stop();
  });

  test('succeeds for one that is not there, by force once the sandbox says so too', async () => {
    const { emulator, adapter, box } = await openSprites();
    const command = await adapter.spawn(box, 'true', [], { detachable: true });
    await command.drain();
    await until('it is gone', () => emulator.sprite('box')?.pids.length === 0);
    const id = command.sessionId as string;
    await adapter.terminateSession(box, id);
    await adapter.terminateSession(box, id, { mode: 'force' });
    const nobody = `999999-${'a'.repeat(32)}`;
    await adapter.terminateSession(box, nobody);
    await adapter.terminateSession(box, nobody, { mode: 'force' });
    expect(posts(emulator, KILL)).toBe(0);
  });

  test('does not touch a process that got the id of an ended one', async () => {
    const { emulator, adapter, box } = await openSprites();
    const command = await adapter.spawn(box, 'sleep', ['60'], { detachable: true });
    const [pid] = (command.sessionId as string).split('-');
    const before = `${pid}-${'a'.repeat(32)}`;
    expect(await refusal(adapter.terminateSession(box, before))).toMatchObject({ code: 'not_found', effect: 'none' });
    expect(posts(emulator, KILL)).toBe(0);
    // Where the list does not show our tag, the sandbox itself is asked.
    const json = { sessions: [{ id: pid, command: '/usr/bin/sleep 60' }] };
    const hidden = { method: 'GET', upgrade: false, path: '/v1/sprites/box/exec', answer: { status: 200, json } };
    emulator.faults.add({ ...hidden, times: 2 });
    expect(await refusal(adapter.terminateSession(box, before))).toMatchObject({ code: 'not_found', effect: 'none' });
    await adapter.terminateSession(box, command.sessionId as string, { mode: 'force' });
    expect(emulator.sprite('box')?.pids).not.toContain(Number(pid));
  });

  test('kills at the end of the grace, and the session says so', async () => {
    const { adapter, box } = await openSprites();
    const command = await adapter.spawn(box, ...sh('trap "" TERM; echo up; while :; do sleep 0.1; done'), {
      detachable: true,
    });
    await until('it runs', () => command.outputBytes === 3);
    await adapter.terminateSession(box, command.sessionId as string, { timeoutMs: 300 });
    expect(await settles('the command', collect(command))).toMatchObject({
      exit: { exitCode: 137, signal: 'SIGKILL' },
    });
  });
});

describe('the network policy', () => {
  test('allows what is named and denies the rest', async () => {
    const { emulator, adapter, box } = await openSprites();
    await adapter.applyNetworkPolicy(box, { allow: ['Example.com', '*.npmjs.org'] });
    expect(emulator.sprite('box')?.policy).toEqual([
      { domain: 'example.com', action: 'allow' },
      { domain: '*.npmjs.org', action: 'allow' },
      { domain: '*', action: 'deny' },
    ]);
    await adapter.applyNetworkPolicy(box, { allow: [] });
    expect(emulator.sprite('box')?.policy).toEqual([{ domain: '*', action: 'deny' }]);
  });

  test('is not in force until it was read back', async () => {
    const { emulator, adapter, box } = await openSprites();
    emulator.faults.add({ method: 'POST', path: /policy/, answer: { status: 204 } });
    expect(await refusal(adapter.applyNetworkPolicy(box, { allow: [] }))).toMatchObject({
      code: 'unavailable',
      effect: 'unknown',
    });
    expect(await refusal(adapter.applyNetworkPolicy(box, { allow: ['not a host'] }))).toMatchObject({
      code: 'invalid',
      effect: 'none',
    });
  });

  test('has more time than other calls', async () => {
    const { emulator, adapter, box } = await openSprites({ policyDelayMs: 500 }, { timeoutMs: 200 });
    await adapter.applyNetworkPolicy(box, { allow: [] });
    expect(emulator.sprite('box')?.policy).toEqual([{ domain: '*', action: 'deny' }]);
  });
});

describe('checkpoints', () => {
  test('are not supported unless enabled', async () => {
    const { adapter, box } = await openSprites();
    expect(adapter.supports('checkpoint')).toBe(false);
    expect(await refusal(adapter.createCheckpoint(box))).toMatchObject({ code: 'not_supported' });
  });

  test('are found by their comment, and restored', async () => {
    const { adapter, box } = await openSprites({}, { checkpointCreationEnabled: true });
    await adapter.writeFile(box, 'state', 'before');
    const { id } = await adapter.createCheckpoint(box);
    await adapter.writeFile(box, 'state', 'after');
    await adapter.restoreCheckpoint(box, id);
    expect(Buffer.from(await adapter.readFile(box, 'state')).toString()).toBe('before');
    expect(await refusal(adapter.restoreCheckpoint(box, 'v99'))).toMatchObject({ code: 'not_found', effect: 'none' });
    expect(await refusal(adapter.restoreCheckpoint(box, 'Current'))).toMatchObject({ code: 'not_found' });
  });

  test.each<[string, string, object]>([
    ['an error within a 200', ndjson({ type: 'info' }, { type: 'error', error: 'x' }), { code: 'restore_failed' }],
    [
      'an error in another line',
      ndjson({ type: 'info', error: 'x' }, { type: 'complete' }),
      { code: 'restore_failed' },
    ],
    ['no end', ndjson({ type: 'info' }), { code: 'unavailable', effect: 'unknown' }],
    [
      'something after the end',
      ndjson({ type: 'complete' }, { type: 'info' }),
      { code: 'unavailable', effect: 'unknown' },
    ],
    ['no JSON', 'done', { code: 'unavailable', effect: 'unknown' }],
  ])('a restore is not done by %s', async (_, text, expected) => {
    const { emulator, adapter, box } = await openSprites({}, { checkpointCreationEnabled: true });
    emulator.faults.add({ method: 'POST', path: /restore$/, answer: { status: 200, text } });
    expect(await refusal(adapter.restoreCheckpoint(box, 'v1'))).toMatchObject(expected);
    expect(posts(emulator, /restore$/)).toBe(1);
  });

  test.each<[string, object[]]>([
    ['none of that comment', [{ id: 'v1', comment: 'other' }]],
    ['the live disk', []],
  ])('a checkpoint of which the list has %s is not confirmed', async (_, list) => {
    const { emulator, adapter, box } = await openSprites({}, { checkpointCreationEnabled: true });
    emulator.faults.add({ method: 'GET', path: /checkpoints$/, answer: { status: 200, json: list } });
    expect(await refusal(adapter.createCheckpoint(box))).toMatchObject({ code: 'unavailable', effect: 'unknown' });
    expect(posts(emulator, /checkpoint$/)).toBe(1);
  });
});

describe('files', () => {
  test('are replaced whole: nothing of a write that failed is left, and what was there stays', async () => {
    const { emulator, adapter, box } = await openSprites();
    await adapter.writeFile(box, 'd/x', 'before', { mode: 0o600 });
    for (const answer of [{ status: 500 }, { status: 500, json: { code: 'ENOSPC' } }] as const) {
      emulator.faults.add({ method: 'POST', path: /rename$/, answer });
      expect(await refusal(adapter.writeFile(box, 'd/x', 'after'))).toMatchObject({ effect: 'unknown' });
    }
    expect(Buffer.from(await adapter.readFile(box, 'd/x')).toString()).toBe('before');
    expect((await adapter.listFiles(box, 'd')).map(({ name, mode }) => [name, mode])).toEqual([['x', 0o600]]);
    await adapter.writeFile(box, 'd/x', 'after');
    expect(Buffer.from(await adapter.readFile(box, 'd/x')).toString()).toBe('after');
    expect((await adapter.listFiles(box, 'd')).map(({ name, mode }) => [name, mode])).toEqual([['x', 0o600]]);
  });

  test('are written in place through a link, and where nothing is renamed over what is there', async () => {
    const { emulator, adapter, box } = await openSprites();
    await adapter.writeFile(box, 'd/real', 'before');
    await adapter.exec(box, 'ln', ['-s', 'real', 'd/link']);
    await adapter.writeFile(box, 'd/link', 'through');
    expect(Buffer.from(await adapter.readFile(box, 'd/real')).toString()).toBe('through');
    emulator.faults.add({ method: 'POST', path: /rename$/, answer: { status: 400, json: { code: 'EEXIST' } } });
    await adapter.writeFile(box, 'd/real', 'in place');
    expect(Buffer.from(await adapter.readFile(box, 'd/real')).toString()).toBe('in place');
    const left = await adapter.listFiles(box, 'd');
    expect(left.map(({ name, type }) => [name, type])).toEqual([
      ['link', 'symlink'],
      ['real', 'file'],
    ]);
  });

  test('that are too large to be given are asked for once, and nothing of them is given', async () => {
    const { emulator, adapter, box } = await openSprites();
    await adapter.exec(box, ...sh('truncate -s 268435457 large'));
    expect(await refusal(adapter.readFile(box, 'large'))).toMatchObject({ code: 'truncated', effect: 'none' });
    expect(emulator.calls.matching({ method: 'GET', path: '/v1/sprites/:name/fs/read' }).length).toBe(1);
  });

  test('a missing sprite is no missing file, and a new one that boots is waited for', async () => {
    const { emulator, adapter, box } = await openSprites({ bootRequests: 2 });
    await adapter.writeFile(box, 'x', 'y');
    expect(await adapter.listFiles(box, '.')).toEqual(
      expect.arrayContaining([expect.objectContaining({ name: 'x', type: 'file', size: 1, mode: 0o644 })]),
    );
    expect(await refusal(adapter.listFiles(box, 'x'))).toMatchObject({ code: 'invalid' });
    expect(await refusal(adapter.readFile(box, '/tmp'))).toMatchObject({ code: 'invalid' });
    expect(await refusal(adapter.writeFile(box, '/tmp', 'x'))).toMatchObject({ code: 'write_failed', effect: 'none' });
    emulator.faults.add({ method: 'GET', path: /read$/, truncateAt: 0, times: 9 });
    expect(await refusal(adapter.readFile(box, 'x'))).toMatchObject({ code: 'unavailable' });
  });
});
