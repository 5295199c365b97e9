import { describe, expect, test } from '@jest/globals';
import { sandboxHandle, type SandboxHandle } from '#libs/contract';
import type { Fault, SpritesEmulator, StreamRewrite } from '#libs/emulators';
import { collect } from '../support/collect.js';
import { refusal } from '../support/errors.js';
import { settles, until } from '../support/until.js';
import { openSprites } from './open-sprites.js';

const SPRITES = '/v1/sprites';
const BOX = '/v1/sprites/box';
const EXEC = '/v1/sprites/box/exec';

const page = (status: number) => ({ status, html: '<html>sign in</html>' });
const json = (status: number, body: unknown) => ({ status, json: body });
/** What a server says that knows no such path. */
const noRoute = { status: 404, text: '404 page not found\n' };

const malformed = { code: 'provider', detail: 'malformed_reply' };

const sh = (script: string): [string, string[]] => ['sh', ['-c', script]];
const incarnation = (emulator: SpritesEmulator): SandboxHandle =>
  sandboxHandle('sprites', 'box', emulator.sprite('box')?.id);
const deletes = ({ calls }: SpritesEmulator): number => calls.matching({ method: 'DELETE', path: BOX }).length;

describe('a creation', () => {
  test.each<[string, Fault['answer']]>([
    ['a page', page(200)],
    ['nothing', { status: 201 }],
    ['an empty object', json(201, {})],
    ['another sprite', json(201, { name: 'other', id: 'sprite-1' })],
  ])('that is answered with %s made nothing that is known of, unless it is there', async (_, answer) => {
    const { emulator, adapter } = await openSprites();
    const fault = emulator.faults.add({ method: 'POST', path: SPRITES, answer, times: 9 });
    expect(await refusal(adapter.create('new'))).toEqual({ ...malformed, effect: 'unknown' });
    fault.remove();
    emulator.faults.add({ method: 'POST', path: SPRITES, answer, effect: 'applied' });
    expect(await adapter.create('new')).toEqual({ provider: 'sprites', name: 'new' });
  });

  test.each<[string, Partial<Fault>, Fault['answer'], object]>([
    ['429', { reset: true }, { status: 429 }, { code: 'rate_limited', effect: 'unknown' }],
    ['422', { answer: { status: 500 } }, { status: 422 }, { code: 'invalid', effect: 'unknown' }],
    ['401', { answer: { status: 429 } }, { status: 401 }, { code: 'denied', effect: 'none' }],
  ])('refused with %s at last may have been made by an attempt before', async (_, first, answer, expected) => {
    const { emulator, adapter } = await openSprites();
    emulator.faults.add({ method: 'POST', path: SPRITES, ...first });
    emulator.faults.add({ method: 'POST', path: SPRITES, nth: 2, times: 9, answer });
    expect(await refusal(adapter.create('new'))).toMatchObject(expected);
  });

  test('of which the name is new is refused for a name that is taken, not by a page or a missing route', async () => {
    const { emulator, adapter } = await openSprites();
    const refused = async (name: string, answer: Fault['answer']): Promise<unknown> => {
      emulator.faults.add({ method: 'POST', path: SPRITES, answer });
      return refusal(adapter.createNew(name));
    };
    const taken = { code: 'already_exists', effect: 'none' };
    expect(await refused('new', page(409))).toMatchObject({ code: 'unavailable', effect: 'none' });
    expect(await refused('box', page(409))).toMatchObject(taken);
    expect(await refused('new', json(409, { error: 'taken' }))).toMatchObject(taken);
    expect(await refused('new', json(404, { error: 'not found' }))).toMatchObject(malformed);
    expect(await refused('new', noRoute)).toMatchObject(malformed);
  });
});

describe('a handle that names an incarnation', () => {
  test.each([[undefined], [7], ['']])('is not told from another by the id %p', async (id) => {
    const { emulator, adapter } = await openSprites();
    const box = incarnation(emulator);
    emulator.faults.add({ method: 'GET', path: BOX, answer: json(200, { name: 'box', id }), times: 99 });
    for (const call of [
      () => adapter.get(box),
      () => adapter.destroy(box),
      () => adapter.terminateSession(box, `1-${'a'.repeat(32)}`),
    ]) {
      expect(await refusal(call())).toEqual({ ...malformed, effect: 'none' });
    }
    emulator.faults.clear();
    expect([emulator.names, deletes(emulator)]).toEqual([['box'], 0]);
  });

  test('is looked for before a delete is sent again: the name may have been taken anew', async () => {
    const { emulator, adapter } = await openSprites({}, { retryBaseMs: 400 });
    const box = incarnation(emulator);
    emulator.faults.add({ method: 'DELETE', path: BOX, answer: { status: 500 }, effect: 'applied' });
    const destroyed = adapter.destroy(box);
    await until('it is gone', () => !emulator.names.includes('box'));
    const anew = await adapter.createNew('box');
    await destroyed;
    expect(await adapter.get(anew)).toMatchObject({ raw: { id: anew.instanceId } });
    expect(deletes(emulator)).toBe(1);
  });
});

describe('a deletion', () => {
  test('of which every answer is lost is proved by a look', async () => {
    const { emulator, adapter, box } = await openSprites();
    emulator.faults.add({ method: 'DELETE', path: BOX, reset: true, effect: 'applied', times: 9 });
    await adapter.destroy(box);
    expect(deletes(emulator)).toBe(1);
  });

  test('may have been done whatever refuses the look', async () => {
    const { emulator, adapter, box } = await openSprites();
    emulator.faults.add({ method: 'GET', path: BOX, answer: { status: 429 }, times: 99 });
    expect(await refusal(adapter.destroy(box))).toMatchObject({ code: 'rate_limited', effect: 'unknown' });
  });
});

describe('a list', () => {
  const sprites = [{ name: 'a' }];

  test.each<[string, object, object]>([
    ['goes on without saying that there is more', { next_continuation_token: 't' }, { code: 'truncated' }],
    ['says in words that there is more', { has_more: 'true', next_continuation_token: 't' }, malformed],
    ['says with a number that there is more', { has_more: 1, next_continuation_token: 't' }, malformed],
    ['says that there is more, and not where', { has_more: true }, { code: 'truncated' }],
  ])('of sprites that %s is not taken for the whole', async (_, rest, expected) => {
    const { emulator, adapter } = await openSprites();
    emulator.faults.add({ method: 'GET', path: SPRITES, answer: json(200, { sprites, ...rest }), times: 9 });
    expect(await refusal(adapter.listAllNames())).toMatchObject({ ...expected, effect: 'none' });
  });

  test.each<[string, object]>([
    ['no', { has_more: false, next_continuation_token: 't' }],
    ['nothing', {}],
    ['nothing, and null', { has_more: undefined, next_continuation_token: null }],
  ])('of sprites ends with %s', async (_, rest) => {
    const { emulator, adapter } = await openSprites();
    emulator.faults.add({ method: 'GET', path: SPRITES, answer: json(200, { sprites, ...rest }) });
    expect(await adapter.listAllNames()).toEqual(['a']);
  });

  test('of sprites that is not there says nothing of sprites', async () => {
    const { emulator, adapter } = await openSprites();
    emulator.faults.add({ method: 'GET', path: SPRITES, answer: json(404, { error: 'not found' }) });
    expect(await refusal(adapter.listAllNames())).toMatchObject(malformed);
  });

  test('of sessions that holds fewer than it says ends no session', async () => {
    const { emulator, adapter, box } = await openSprites();
    const command = await adapter.spawn(box, 'sleep', ['60'], { detachable: true });
    const answer = json(200, { count: 1, sessions: [] });
    emulator.faults.add({ method: 'GET', upgrade: false, path: EXEC, answer, times: 2 });
    expect(await refusal(adapter.listSessions(box))).toMatchObject(malformed);
    expect(await refusal(adapter.terminateSession(box, command.sessionId as string))).toMatchObject(malformed);
    expect(await adapter.listSessions(box)).toHaveLength(1);
    await command.stop();
  });

  test.each<[string, object]>([
    ['holds fewer than it says', { count: 2 }],
    ['names what lies elsewhere', { name: '../x' }],
    ['names the directory above', { name: '..' }],
    ['has a size below nothing', { size: -1 }],
  ])('of files that %s is no list', async (_, { count = 1, ...change }: { count?: number }) => {
    const { emulator, adapter, box } = await openSprites();
    const file = { name: 'x', path: '/d/x', type: 'file', size: 1, mode: '0644', modTime: '2026-01-01T00:00:00Z' };
    const answer = json(200, { path: '/d', count, entries: [{ ...file, ...change }] });
    emulator.faults.add({ method: 'GET', path: /fs\/list$/, answer });
    expect(await refusal(adapter.listFiles(box, '/d'))).toMatchObject(malformed);
  });
});

describe('a 404', () => {
  test.each<[string, Fault['answer'], object]>([
    ['a server that knows no such path', noRoute, malformed],
    ['a gateway', page(404), malformed],
    ['nobody', { status: 404 }, malformed],
    ['the service', json(404, { error: 'sprite not found' }), { code: 'not_found' }],
    ['the service, in plain text', { status: 404, text: 'sprite not found\n' }, { code: 'not_found' }],
  ])('of %s is taken for that', async (_, answer, expected) => {
    const { emulator, adapter, box } = await openSprites({}, { checkpointCreationEnabled: true });
    emulator.faults.add({ path: /\/box\//, answer, times: 99 });
    for (const call of [
      () => adapter.listSessions(box),
      () => adapter.attach(box, `1-${'a'.repeat(32)}`),
      () => adapter.exec(box, 'true'),
      () => adapter.readFile(box, 'x'),
      () => adapter.writeFile(box, 'x', 'y'),
      () => adapter.applyNetworkPolicy(box, { allow: [] }),
      () => adapter.restoreCheckpoint(box, 'v1'),
    ]) {
      expect(await refusal(call())).toMatchObject(expected);
    }
  });

  test('of something on the way does not end a command that goes on', async () => {
    const { emulator, adapter, box } = await openSprites();
    const command = await adapter.spawn(box, ...sh('echo one; sleep 0.3; echo two; exit 8'), { detachable: true });
    await until('one line came', () => command.outputBytes === 4);
    emulator.faults.add({ upgrade: true, path: EXEC, answer: noRoute });
    await emulator.pause('box', 'warm');
    const { stdout, exit } = await settles('the command', collect(command));
    expect([stdout.toString(), exit]).toEqual(['one\ntwo\n', { exitCode: 8 }]);
  });

  test('to a kill does not confirm that an exec was stopped', async () => {
    const { emulator, adapter, box } = await openSprites();
    emulator.faults.add({ method: 'POST', path: /\/kill$/, answer: noRoute });
    const refused = await refusal(adapter.exec(box, 'sleep', ['60'], { timeoutMs: 300 }));
    expect(refused).toEqual({ code: 'unavailable', detail: 'timeout', effect: 'unknown' });
  });

  test('to both ways of attaching to a session that is listed is no exit', async () => {
    const { emulator, adapter, box } = await openSprites();
    const command = await adapter.spawn(box, 'cat', [], { stdin: true, detachable: true });
    const id = command.sessionId as string;
    const answer = json(404, { error: 'session not found' });
    const where = {
      upgrade: true,
      where: ({ path, query }: { path: string; query: URLSearchParams }) => path !== EXEC || query.has('id'),
    };
    emulator.faults.add({ ...where, answer, times: 2 });
    expect(await refusal(adapter.attach(box, id, { stdin: true }))).toMatchObject({
      code: 'unavailable',
      effect: 'none',
    });
    const again = await adapter.attach(box, id, { stdin: true });
    await again.writeStdin('x');
    await again.closeStdin();
    expect(await settles('the command', again.exit)).toEqual({ exitCode: 0 });
  });
});

describe('what was done before a look that is refused', () => {
  test('counts for a policy', async () => {
    const { emulator, adapter, box } = await openSprites();
    const set = () => adapter.applyNetworkPolicy(box, { allow: [] });
    const look = emulator.faults.add({ method: 'GET', path: /policy/, answer: { status: 429 }, times: 9 });
    expect(await refusal(set())).toMatchObject({ code: 'rate_limited', effect: 'unknown' });
    look.remove();
    emulator.faults.add({ method: 'POST', path: /policy/, reset: true, effect: 'applied' });
    emulator.faults.add({ method: 'POST', path: /policy/, nth: 2, answer: { status: 400 } });
    expect(await refusal(set())).toMatchObject({ code: 'invalid', effect: 'unknown' });
  });

  test('counts for a checkpoint, and one that cannot be mounted is none', async () => {
    const { emulator, adapter, box } = await openSprites({}, { checkpointCreationEnabled: true });
    const look = emulator.faults.add({ method: 'GET', path: /checkpoints$/, answer: { status: 429 }, times: 9 });
    expect(await refusal(adapter.createCheckpoint(box))).toMatchObject({ code: 'rate_limited', effect: 'unknown' });
    look.remove();
    const rewrite: StreamRewrite = (step) => {
      if (!('data' in step)) return [step];
      const entries = step.data.toString().replaceAll('"id":', '"health":"mount_failed","id":');
      return [{ ...step, data: Buffer.from(entries) }];
    };
    emulator.faults.add({ method: 'GET', path: /checkpoints$/, rewrite });
    expect(await refusal(adapter.createCheckpoint(box))).toMatchObject({ code: 'provider', effect: 'unknown' });
  });

  test('was nothing where the platform parks by itself', async () => {
    const { emulator, adapter, box } = await openSprites();
    emulator.faults.add({ method: 'GET', path: BOX, answer: { status: 500 }, times: 99 });
    expect(await refusal(adapter.suspend(box))).toMatchObject({ code: 'unavailable', effect: 'none' });
    expect(await refusal(adapter.resume(box))).toMatchObject({ code: 'unavailable', effect: 'none' });
  });
});

describe('a URL', () => {
  test.each(['javascript:alert(1)', '//box.sprites.app', 'box.sprites.app', 'https://a b/', ''])(
    'that a browser cannot open is none: %p',
    async (url) => {
      const { emulator, adapter, box } = await openSprites();
      const answer = json(200, { name: 'box', url, url_settings: { auth: 'public' } });
      emulator.faults.add({ method: 'GET', path: BOX, answer });
      expect(await refusal(adapter.publicUrl(box, { port: 8080 }))).toMatchObject({ code: 'not_supported' });
    },
  );
});

describe('a file', () => {
  test.each([/fs\/write$/, /fs\/rename$/])('is not written by a page in the place of %p', async (path) => {
    const { emulator, adapter, box } = await openSprites();
    await adapter.writeFile(box, 'd/x', 'before');
    emulator.faults.add({ path, answer: page(200), times: 9 });
    expect(await refusal(adapter.writeFile(box, 'd/x', 'after'))).toEqual({ ...malformed, effect: 'unknown' });
    expect(Buffer.from(await adapter.readFile(box, 'd/x')).toString()).toBe('before');
    expect((await adapter.listFiles(box, 'd')).map(({ name }) => name)).toEqual(['x']);
  });

  test('is not a page in its place, and may be a page itself', async () => {
    const { emulator, adapter, box } = await openSprites();
    await adapter.writeFile(box, 'x', '<p>mine</p>');
    const path = /fs\/read$/;
    emulator.faults.add({ path, answer: page(200), times: 9 });
    expect(await refusal(adapter.readFile(box, 'x'))).toEqual({ ...malformed, effect: 'none' });
    emulator.faults.clear();
    emulator.faults.add({ path, answer: { ...page(200), headers: { 'sprite-version': '0.0.1-rc46' } } });
    expect(Buffer.from(await adapter.readFile(box, 'x')).toString()).toBe(page(200).html);
    expect(Buffer.from(await adapter.readFile(box, 'x')).toString()).toBe('<p>mine</p>');
  });

  test('that is given up is not waited for while it is cleared away', async () => {
    const { emulator, adapter, box } = await openSprites({}, { timeoutMs: 60_000 });
    emulator.faults.add({ path: /fs\/rename$/, delayMs: Infinity });
    emulator.faults.add({ path: /fs\/delete$/, delayMs: Infinity });
    const controller = new AbortController();
    const writing = refusal(adapter.writeFile(box, 'x', 'y', { signal: controller.signal }));
    await emulator.calls.arrived({ path: /fs\/rename$/ });
    controller.abort();
    expect(await settles('the write', writing)).toMatchObject({ code: 'aborted', effect: 'unknown' });
    await emulator.calls.arrived({ path: /fs\/delete$/ });
  });
});

describe('a command', () => {
  test('is not started any more once its exec has run out of time', async () => {
    const { emulator, adapter, box } = await openSprites();
    emulator.faults.add({ upgrade: true, delayMs: 1_500 });
    const refused = await refusal(adapter.exec(box, ...sh('touch ran'), { timeoutMs: 300 }));
    expect(refused).toEqual({ code: 'unavailable', detail: 'timeout', effect: 'unknown' });
    await until('nobody waits for it', () => emulator.sprite('box')?.pids.length === 0);
    expect(await refusal(adapter.statFile(box, 'ran'))).toMatchObject({ code: 'not_found' });
  });

  test('of which the start was lost leaves no session behind', async () => {
    const { emulator, adapter, box } = await openSprites({}, { timeoutMs: 500 });
    emulator.faults.add({ upgrade: true, reset: true, effect: 'applied' });
    const spawned = adapter.spawn(box, 'sleep', ['60'], { detachable: true });
    expect(await refusal(spawned)).toMatchObject({ code: 'unavailable', effect: 'none' });
    await until('its shell has given up', async () => (await adapter.listSessions(box)).length === 0);
  });

  test.each<[string, object, string]>([
    ['', {}, '@'],
    [' on a terminal', { tty: true }, '@r'],
  ])('that nobody learns of is stopped: one%s whose start is given up', async (_, options, word) => {
    const { emulator, adapter, box } = await openSprites();
    const rewrite: StreamRewrite = (step) => ('data' in step && step.binary && step.data.includes(word) ? [] : [step]);
    emulator.faults.add({ upgrade: true, rewrite });
    const controller = new AbortController();
    const { signal } = controller;
    const started = adapter.spawn(box, ...sh('touch ran; sleep 60'), { ...options, detachable: true, signal });
    const refused = refusal(started);
    await until('it runs', () =>
      adapter.statFile(box, 'ran').then(
        () => true,
        () => false,
      ),
    );
    controller.abort();
    expect(await settles('the spawn', refused)).toMatchObject({ code: 'aborted', effect: 'unknown' });
    await until('nothing runs', () => emulator.sprite('box')?.pids.length === 0);
  });

  test('on a terminal that has ended is attached for its exit alone', async () => {
    const { emulator, adapter, box } = await openSprites();
    const command = await adapter.spawn(box, ...sh('echo on; exit 6'), { tty: true, stdin: true, detachable: true });
    await collect(command);
    await until('nothing runs', () => emulator.sprite('box')?.pids.length === 0);
    const id = command.sessionId as string;
    const ended = await adapter.attach(box, id, { from: 'now', stdin: true });
    expect(await refusal(ended.writeStdin('x'))).toMatchObject({ code: 'command_exited', effect: 'none' });
    await ended.closeStdin();
    await ended.resize({ cols: 80, rows: 24 });
    const { stdout, exit } = await settles('the command', collect(ended));
    expect([stdout.toString(), exit]).toEqual(['', { exitCode: 6 }]);
    expect(await refusal(adapter.attach(box, id))).toMatchObject({ code: 'truncated', detail: 'replay_evicted' });
    expect(await refusal(adapter.attach(box, `1-${'a'.repeat(32)}`, { from: 'now' }))).toMatchObject({
      code: 'not_found',
    });
  });

  test('on a terminal gives all of its output, however long after its exit that comes', async () => {
    const { emulator, adapter, box } = await openSprites();
    const wait = { delayMs: 300 };
    const held: Parameters<StreamRewrite>[0][] = [];
    let hasBegun = false;
    const rewrite: StreamRewrite = (step) => {
      if (!('data' in step)) return [step];
      if (!step.binary) return step.data.includes('"type":"exit"') ? [step, ...held] : [step];
      if (!hasBegun && !step.data.includes('@r')) return [step];
      hasBegun = true;
      const text = step.data.toString();
      const at = text.includes('@r') ? text.indexOf('\n', text.indexOf('@r')) + 1 : 0;
      for (const char of text.slice(at)) held.push(wait, { data: Buffer.from(char), binary: true });
      return at > 0 ? [{ data: Buffer.from(text.slice(0, at)), binary: true }] : [];
    };
    emulator.faults.add({ upgrade: true, rewrite });
    const command = await adapter.spawn(box, ...sh('printf abcd; exit 3'), { tty: true });
    const { stdout, exit } = await settles('the command', collect(command));
    expect([stdout.toString(), exit]).toEqual(['abcd', { exitCode: 3 }]);
  });

  test('that says in words alone that it ended is not waited for without an end', async () => {
    const { emulator, adapter, box } = await openSprites({ lingerMs: 60_000 });
    const isEnd = (data: Buffer): boolean => data[0] === 3 || data.includes('@x');
    const rewrite: StreamRewrite = (step) => ('data' in step && step.binary && isEnd(step.data) ? [] : [step]);
    emulator.faults.add({ upgrade: true, rewrite });
    const refused = await settles('the exec', refusal(adapter.exec(box, 'true')));
    expect(refused).toMatchObject({ code: 'unavailable', detail: 'closed_before_exit' });
  });
});
