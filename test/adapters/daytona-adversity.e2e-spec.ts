import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { SandboxHandle } from '#libs/contract';
import {
  DaytonaEmulator,
  TOOLBOX_ANSWERS,
  type Answer,
  type CallMatch,
  type DaytonaEmulatorOptions,
  type StreamRewrite,
} from '#libs/emulators';
import { processTable } from '#libs/process';
import { DaytonaAdapter, DaytonaOptions } from '../../src/adapters/daytona/index.js';
import { collect } from '../support/collect.js';
import { refusal } from '../support/errors.js';
import { settles, until } from '../support/until.js';

const SANDBOX: CallMatch = { method: 'GET', path: '/api/sandbox/:sandbox' };
const LIST: CallMatch = { method: 'GET', path: '/api/sandbox' };
const CREATE: CallMatch = { method: 'POST', path: '/api/sandbox' };
const DELETE: CallMatch = { method: 'DELETE', path: '/api/sandbox/:sandbox' };
const POLICY: CallMatch = { method: 'POST', path: '/api/sandbox/:sandbox/network-settings' };
const URLS: CallMatch = { method: 'GET', path: '/api/sandbox/:sandbox/ports/:port/signed-preview-url' };
const PTY: CallMatch = { path: '/toolbox/:id/process/pty/:pty/connect', upgrade: true };
const UPLOAD: CallMatch = { method: 'POST', path: '/toolbox/:id/files/bulk-upload' };

const change = (what: 'start' | 'stop'): CallMatch => ({ method: 'POST', path: `/api/sandbox/:sandbox/${what}` });
const errand = (purpose: string): CallMatch => ({
  method: 'POST',
  path: '/toolbox/:id/process/execute',
  where: ({ headers }) => headers['user-agent'] === `nestjs-sandbox (${purpose})`,
});
const file = (call: string): CallMatch => ({ method: 'GET', path: `/toolbox/:id/files${call}` });
const page = (status: number): Answer => ({ status, html: '<html>no</html>' });
const said = (status: number, message: string): Answer => ({
  status,
  json: { statusCode: status, path: '/api/sandbox/x', message },
});
/** Changes the body of an answer that is one JSON object. */
const changed = (more: object): StreamRewrite => {
  return (step) =>
    'data' in step
      ? [{ data: Buffer.from(JSON.stringify({ ...JSON.parse(step.data.toString()), ...more })), binary: true }]
      : [step];
};

describe('the Daytona adapter', () => {
  const opened: DaytonaEmulator[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((emulator) => emulator.close()));
  });

  const open = async (options: Partial<DaytonaEmulatorOptions> = {}) => {
    const emulator = await DaytonaEmulator.start(options);
    opened.push(emulator);
    const adapter = new DaytonaAdapter(
      new DaytonaOptions({ apiKey: emulator.token, apiUrl: emulator.url, retryBaseMs: 10 }),
    );
    const box = await adapter.create('box');
    const { id, home } = emulator.sandbox('box') as { id: string; home: string };
    return { emulator, adapter, box, id, home };
  };

  /** A command that leaves its pid, and runs on. */
  const LASTING: readonly [string, string[]] = ['sh', ['-c', 'echo $$ >pid; exec sleep 60']];
  const pidIn = (home: string): Promise<number> =>
    until('the command runs', async () => Number(await readFile(join(home, 'pid'), 'utf8').catch(() => '')));
  /** One that has ended and was not reaped yet is dead. */
  const isAlive = async (pid: number): Promise<boolean> =>
    (await processTable()).some((entry) => entry.pid === pid && !entry.zombie);
  const left = (home: string, directory: string): Promise<string[]> =>
    readdir(join(home, '.nestjs-sandbox', directory)).catch(() => []);

  describe('that is given up while a command is being started', () => {
    test('stops what an exec has started', async () => {
      const { adapter, box, home } = await open();
      const controller = new AbortController();
      const running = adapter.exec(box, ...LASTING, { signal: controller.signal });
      const pid = await pidIn(home);
      controller.abort();
      expect(await refusal(running)).toEqual({ code: 'aborted', detail: undefined, effect: 'done' });
      expect(await isAlive(pid)).toBe(false);
    });

    test('starts nothing once the time of an exec is up', async () => {
      const { emulator, box } = await open();
      const options = { apiKey: emulator.token, apiUrl: emulator.url, retryBaseMs: 10 };
      const adapter = new DaytonaAdapter(new DaytonaOptions(options));
      const waking = emulator.faults.add({ ...SANDBOX, rewrite: changed({ state: 'starting' }), times: Infinity });
      const running = adapter.exec(box, 'touch', ['ran'], { timeoutMs: 300 });
      const late = { code: 'unavailable', detail: 'timeout', effect: 'unknown' };
      expect(await settles('the exec', refusal(running), 3_000)).toEqual(late);
      waking.remove();
      expect((await adapter.exec(box, 'ls')).text()).toBe('');
      expect(emulator.calls.matching(errand('start')).length).toBe(1);
    });

    test('stops what a spawn has started, which nobody can know of', async () => {
      const { emulator, adapter, box, home } = await open();
      emulator.faults.add({ ...errand('start'), delayMs: Infinity });
      const controller = new AbortController();
      const running = adapter.spawn(box, ...LASTING, { signal: controller.signal });
      const pid = await pidIn(home);
      controller.abort();
      expect(await refusal(running)).toEqual({ code: 'aborted', detail: undefined, effect: 'unknown' });
      await until('it is gone', async () => !(await isAlive(pid)));
    });

    test('stops what it was told nothing of', async () => {
      const { emulator, adapter, box, home } = await open();
      emulator.faults.add({ ...errand('start'), reset: true, effect: 'applied' });
      const running = adapter.spawn(box, ...LASTING, { detachable: true });
      expect(await refusal(running)).toMatchObject({ code: 'unavailable', effect: 'unknown' });
      const pid = await pidIn(home);
      await until('it is gone', async () => !(await isAlive(pid)));
      await until('it is listed no more', async () => (await adapter.listSessions(box)).length === 0);
    });

    test.each<[string, CallMatch, object]>([
      ['cannot be joined', PTY, { answer: { status: 500 } }],
      [
        'is there while its answer is lost',
        { method: 'POST', path: '/toolbox/:id/process/pty' },
        { reset: true, effect: 'applied' },
      ],
    ])('leaves no terminal that %s', async (_, match, fault) => {
      const { emulator, adapter, box, home } = await open();
      emulator.faults.add({ ...match, ...fault });
      expect(await refusal(adapter.spawn(box, 'sleep', ['60'], { tty: true }))).toMatchObject({ effect: 'unknown' });
      await until('it is gone', () => emulator.sandbox('box')?.pids.length === 0);
      await until(
        'nothing is left of it',
        async () => (await left(home, 'start')).length + (await left(home, 'runs')).length === 0,
      );
    });
  });

  describe('where processes stand still', () => {
    /** The service wakes it with a start. */
    const freeze = (emulator: DaytonaEmulator): void => {
      const frozen = emulator.faults.add({ ...SANDBOX, rewrite: changed({ state: 'paused' }), times: Infinity });
      emulator.faults.add({ ...change('start'), answer: { status: 200, json: {} } });
      void emulator.calls.arrived(change('start')).then(() => frozen.remove());
    };

    test('wakes them to end a session', async () => {
      const { emulator, adapter, box, home } = await open();
      const command = await adapter.spawn(box, ...LASTING, { detachable: true });
      const pid = await pidIn(home);
      await command.stop();
      freeze(emulator);
      const other = new DaytonaAdapter(
        new DaytonaOptions({ apiKey: emulator.token, apiUrl: emulator.url, retryBaseMs: 10 }),
      );
      await other.terminateSession(box, command.sessionId as string, { timeoutMs: 1000 });
      expect(await isAlive(pid)).toBe(false);
      expect(emulator.calls.matching(change('start')).length).toBe(1);
    });

    test('calls them suspended, and stops them no more', async () => {
      const { emulator, adapter, box } = await open();
      emulator.faults.add({ ...SANDBOX, rewrite: changed({ state: 'paused' }), times: Infinity });
      expect(await adapter.get(box)).toMatchObject({ status: 'suspended' });
      await adapter.suspend(box);
      expect(emulator.calls.matching(change('stop'))).toEqual([]);
    });
  });

  test('neither ends nor misses what somebody else left at the service: an idle session, a terminal, its own', async () => {
    const { emulator, adapter, box, id } = await open();
    const toolbox = `${emulator.url.replace('/api', '')}/toolbox/${id}/process`;
    await send(emulator, `${toolbox}/session`, { sessionId: 'idle' });
    await send(emulator, `${toolbox}/pty`, { id: 'terminal' });
    for (const theirs of ['idle', 'terminal', 'entrypoint']) {
      const refused = { code: 'not_supported', detail: undefined, effect: 'none' };
      expect(await refusal(adapter.terminateSession(box, theirs))).toEqual(refused);
      expect(await refusal(adapter.attach(box, theirs, { from: 'now' }))).toEqual(refused);
    }
    await adapter.terminateSession(box, 'nobodys');
    emulator.faults.add({ method: 'GET', path: '/toolbox/:id/process/session/:session', answer: page(404) });
    expect(await refusal(adapter.terminateSession(box, 'nobodys'))).toMatchObject({ code: 'unavailable' });
  });

  test.each<[string, object | undefined, string | undefined]>([
    ['a number for a cursor', { nextCursor: 5 }, 'provider'],
    ['an object for a cursor', { nextCursor: { after: 1 } }, 'provider'],
    ['no cursor and a larger total', { nextCursor: undefined, total: 2 }, 'truncated'],
    ['no cursor and more pages', { nextCursor: undefined, totalPages: 2 }, 'truncated'],
    ['no cursor and a full page', { nextCursor: undefined, items: entries(100) }, 'truncated'],
    ['no cursor and a short page', { nextCursor: undefined, items: entries(99) }, undefined],
    ['an end and a full page', { nextCursor: null, items: entries(200), total: 900 }, undefined],
  ])('a page of the list with %s', async (_, more, code) => {
    const { emulator, adapter } = await open();
    emulator.faults.add({ ...LIST, rewrite: changed(more ?? {}) });
    const names = await adapter.listAllNames().catch((error: { code: string }) => error.code);
    expect(code === undefined ? names.length >= 99 : names).toBe(code ?? true);
  });

  test('an answer about another sandbox is no word about the one that was asked for', async () => {
    const { emulator, adapter, box, id } = await open();
    const byId = { ...box, instanceId: id };
    const other = { id: '6f1d3c7e-0000-4000-8000-00000000000f', name: 'other' };
    const malformed = { code: 'provider', detail: 'malformed_reply', effect: 'none' };
    const others = emulator.faults.add({ ...SANDBOX, rewrite: changed(other), times: Infinity });
    for (const handle of [box, byId]) {
      expect(await refusal(adapter.get(handle))).toEqual(malformed);
      expect(await refusal(adapter.destroy(handle))).toEqual(malformed);
    }
    others.remove();
    emulator.faults.add({ ...SANDBOX, rewrite: changed({ id: other.id }) });
    expect(await refusal(adapter.get(byId))).toEqual(malformed);
    emulator.faults.add({ ...CREATE, rewrite: changed({ name: 'other' }) });
    expect(await refusal(adapter.createNew('new'))).toEqual({
      code: 'unavailable',
      detail: undefined,
      effect: 'unknown',
    });
    expect(emulator.calls.matching(DELETE)).toEqual([]);
    // What was asked for by an id that is the name of another is gone.
    emulator.faults.add({ ...SANDBOX, rewrite: changed({ id: other.id, name: id }) });
    expect(await refusal(adapter.get(byId))).toMatchObject({ code: 'not_found' });
  });

  test.each(['.', '..', 'a/b', '%2e'])('an id that is none, %j, is refused before it is sent', async (instanceId) => {
    const { emulator, adapter, box } = await open();
    emulator.calls.clear();
    for (const call of [adapter.get({ ...box, instanceId }), adapter.destroy({ ...box, instanceId })]) {
      expect(await refusal(call)).toEqual({ code: 'invalid', detail: 'argument', effect: 'none' });
    }
    expect(emulator.calls.all).toEqual([]);
  });

  test('a sandbox that is called destroyed is gone', async () => {
    const { emulator, adapter, box } = await open();
    emulator.faults.add({ ...SANDBOX, rewrite: changed({ state: 'destroyed' }), times: 2 });
    expect(await refusal(adapter.get(box))).toMatchObject({ code: 'not_found' });
    await adapter.destroy(box);
    expect(emulator.calls.matching(DELETE)).toEqual([]);
  });

  test('what was made and is gone before it runs was done', async () => {
    const { emulator, adapter } = await open();
    emulator.faults.add({ ...SANDBOX, answer: said(404, 'Sandbox with ID or name x not found'), times: Infinity });
    expect(await refusal(adapter.createNew('new'))).toEqual({ code: 'unavailable', detail: undefined, effect: 'done' });
  });

  describe('after a change that was perhaps made', () => {
    const forbidden = said(403, 'no');
    const unknown = { code: 'denied', detail: undefined, effect: 'unknown' };

    test.each<[string, CallMatch, (adapter: DaytonaAdapter, box: SandboxHandle) => Promise<unknown>]>([
      ['suspend', change('stop'), (adapter, box) => adapter.suspend(box)],
      ['destroy', DELETE, (adapter, box) => adapter.destroy(box)],
      ['applyNetworkPolicy', POLICY, (adapter, box) => adapter.applyNetworkPolicy(box, { allow: [] })],
    ])('a refusal of the next attempt does not say that %s did nothing', async (_, match, call) => {
      const { emulator, adapter, box } = await open();
      emulator.faults.add({ ...match, reset: true, effect: 'applied' });
      emulator.faults.add({ ...match, nth: 2, answer: forbidden });
      expect(await refusal(call(adapter, box))).toEqual(unknown);
      emulator.faults.add({ ...match, answer: forbidden });
      const none = { code: 'denied', detail: undefined, effect: 'none' };
      emulator.faults.add({
        ...SANDBOX,
        answer: { status: 200, json: { id: 'some-id', name: 'box', state: 'started' } },
      });
      expect(await refusal(call(adapter, box))).toEqual(none);
    });

    test('a look that fails does not say so either', async () => {
      const { emulator, adapter, box } = await open();
      const look = (after: number): void => void emulator.faults.add({ ...SANDBOX, nth: after, answer: forbidden });
      look(2);
      expect(await refusal(adapter.suspend(box))).toEqual(unknown);
      await until('it has stopped', () => emulator.sandbox('box')?.state === 'stopped');
      look(2);
      expect(await refusal(adapter.resume(box))).toEqual(unknown);
      await adapter.resume(box);
      look(2);
      expect(await refusal(adapter.applyNetworkPolicy(box, { allow: [] }))).toEqual(unknown);
      look(1);
      expect(await refusal(adapter.resume(box))).toEqual({ ...unknown, effect: 'none' });
    });
  });

  test('a sandbox that could not be looked at was given nothing to do', async () => {
    const { emulator, box } = await open();
    const options = { apiKey: emulator.token, apiUrl: emulator.url, retryBaseMs: 1 };
    const adapter = new DaytonaAdapter(new DaytonaOptions(options));
    const down = { status: 503, json: {} };
    emulator.faults.add({ ...SANDBOX, answer: down, times: Infinity });
    const nothing = { code: 'unavailable', detail: undefined, effect: 'none' };
    expect(await refusal(adapter.exec(box, 'true'))).toEqual(nothing);
    expect(await refusal(adapter.spawn(box, 'true'))).toEqual(nothing);
    expect(await refusal(adapter.writeFile(box, 'file', 'x'))).toEqual(nothing);
    expect(await refusal(adapter.suspend(box))).toEqual(nothing);
    expect(await refusal(adapter.destroy(box))).toEqual(nothing);
  });

  test('a destroy that is refused again and again comes to an end, and did nothing', async () => {
    const { emulator, box } = await open();
    const options = { apiKey: emulator.token, apiUrl: emulator.url, retryBaseMs: 1 };
    const adapter = new DaytonaAdapter(new DaytonaOptions(options));
    emulator.faults.add({ ...DELETE, answer: said(400, 'Sandbox has active forks'), times: Infinity });
    const refused = { code: 'invalid', detail: undefined, effect: 'none' };
    expect(await settles('the destroy', refusal(adapter.destroy(box)), 30_000)).toEqual(refused);
    expect(emulator.names).toEqual(['box']);
  });

  test('a 404 on something of a sandbox is no word about the sandbox', async () => {
    const { emulator, adapter, box } = await open();
    for (const [match, call] of [
      [URLS, () => adapter.publicUrl(box, { port: 80 })],
      [POLICY, () => adapter.applyNetworkPolicy(box, { allow: [] })],
    ] as const) {
      emulator.faults.add({ ...match, answer: said(404, 'Runner not found') });
      expect(await refusal(call())).toEqual({ code: 'unavailable', detail: undefined, effect: 'none' });
      emulator.faults.add({ ...match, answer: said(404, 'Sandbox with ID or name x not found') });
      emulator.faults.add({ ...SANDBOX, nth: 2, answer: said(404, 'Sandbox with ID or name x not found') });
      expect(await refusal(call())).toMatchObject({ code: 'not_found' });
    }
    emulator.faults.add({ ...URLS, answer: { status: 200, json: { url: 'https:// x' } } });
    expect(await refusal(adapter.publicUrl(box, { port: 80 }))).toMatchObject({ detail: 'malformed_reply' });
  });

  describe('with files', () => {
    test.each<[string, Answer, object]>([
      ['a page', page(200), { code: 'provider', detail: 'malformed_reply' }],
      ['JSON', { status: 200, json: {} }, { code: 'provider', detail: 'malformed_reply' }],
      ['a page that says 404', page(404), { code: 'unavailable' }],
      ['that there is no such call', { status: 404, text: '404 page not found' }, { code: 'unavailable' }],
      [
        'that the container is elsewhere',
        {
          status: 404,
          json: { statusCode: 404, code: 'NOT_FOUND', message: 'not found: sandbox container not found' },
        },
        { code: 'unavailable' },
      ],
      ['404 alone, as old daemons', { status: 404 }, { code: 'not_found' }],
      [
        'that there is no file',
        { status: 404, json: { statusCode: 404, code: 'FILE_NOT_FOUND' } },
        { code: 'not_found' },
      ],
    ])('a download that answers %s', async (_, answer, expected) => {
      const { emulator, adapter, box } = await open();
      await adapter.writeFile(box, 'file', 'content');
      emulator.faults.add({ ...file('/download'), answer, times: Infinity });
      expect(await refusal(adapter.readFile(box, 'file'))).toMatchObject({ ...expected, effect: 'none' });
    });

    test.each([{ size: -1 }, { size: 0.5 }, { name: '..' }, { name: 'a/b' }, { name: '' }, { modifiedAt: 0 }])(
      'an entry with %j is not given',
      async (odd) => {
        const { emulator, adapter, box } = await open();
        const entry = {
          name: 'a',
          size: 1,
          mode: '-rw-r--r--',
          permissions: '0644',
          modifiedAt: '2026-01-01T00:00:00Z',
        };
        emulator.faults.add({ ...file(''), answer: { status: 200, json: [entry] } });
        expect(await adapter.listFiles(box, '.')).toHaveLength(1);
        emulator.faults.add({ ...file(''), answer: { status: 200, json: [{ ...entry, ...odd }] } });
        expect(await refusal(adapter.listFiles(box, '.'))).toMatchObject({ detail: 'malformed_reply' });
      },
    );

    test('finds no fault with what it was given when a sandbox has no place for it', async () => {
      const { adapter, box, home } = await open();
      await rm(join(home, '.nestjs-sandbox'), { recursive: true, force: true });
      await writeFile(join(home, '.nestjs-sandbox'), '');
      expect(await refusal(adapter.writeFile(box, 'file', 'content'))).toMatchObject({
        code: 'unavailable',
        effect: 'none',
      });
    });

    test('a write that fails on its way leaves nothing', async () => {
      const { emulator, adapter, box, home } = await open();
      emulator.faults.add({ ...UPLOAD, answer: { status: 403 }, effect: 'applied' });
      expect(await refusal(adapter.writeFile(box, 'one', 'x'))).toMatchObject({ code: 'denied', effect: 'none' });
      emulator.faults.add({ ...errand('place'), answer: TOOLBOX_ANSWERS.badGateway });
      expect(await refusal(adapter.writeFile(box, 'two', 'x'))).toMatchObject({ effect: 'unknown' });
      await until('nothing is left', async () => (await left(home, 'staged')).length === 0);
      expect(emulator.calls.matching(errand('clean')).length).toBe(2);
    });

    test('bytes that a command never took are not left in the sandbox', async () => {
      const { adapter, box, home } = await open();
      const command = await adapter.spawn(box, 'sh', ['-c', 'exec <&-; sleep 60'], { stdin: true });
      await until('its stdin is closed', async () => {
        const written = await refusal(command.writeStdin(Buffer.alloc(5000, 'x')));
        return (written as { code?: string }).code === 'write_failed';
      });
      expect(await refusal(command.writeStdin(Buffer.alloc(5000, 'x')))).toMatchObject({ code: 'write_failed' });
      await until('nothing is left', async () => (await left(home, 'staged')).length === 0);
      await command.stop();
    });
  });

  test('a terminal that has ended is joined at its exit', async () => {
    const { adapter, box } = await open();
    const command = await adapter.spawn(box, 'sh', ['-c', 'exit 4'], { tty: true, detachable: true });
    expect(await command.exit).toEqual({ exitCode: 4 });
    const again = await adapter.attach(box, command.sessionId as string, { from: 'now' });
    expect(await settles('its exit', again.exit)).toEqual({ exitCode: 4 });
    expect(await refusal(adapter.attach(box, command.sessionId as string))).toMatchObject({ detail: 'replay_evicted' });
  });

  test.each<[string, () => StreamRewrite]>([
    ['loses messages in the middle', () => every(3, () => [])],
    ['tells messages twice', () => every(2, (step) => [step, step])],
    [
      'makes up an exit',
      () => every(4, (step) => [step, { data: Buffer.from('\x01\x01\x01@x 0 0 0 -\n'), binary: true }]),
    ],
    ['makes up a loss', () => every(4, (step) => [step, { data: Buffer.from('\x01\x01\x01@l\n'), binary: true }])],
  ])('a log that %s changes nothing of the output', async (_, rewrite) => {
    const { emulator, adapter, box } = await open();
    const logs: CallMatch = { path: '/toolbox/:id/process/session/:session/command/:command/logs', upgrade: true };
    const fault = emulator.faults.add({ ...logs, times: Infinity, rewrite: rewrite() });
    const script =
      'n=0; while [ $n -lt 60 ]; do echo "line $n"; echo "err $n" >&2; n=$((n + 1)); sleep 0.03; done; exit 6';
    const { stdout, stderr, exit } = await settles(
      'it',
      collect(await adapter.spawn(box, 'sh', ['-c', script])),
      50_000,
    );
    const lines = (word: string): string => Array.from({ length: 60 }, (__, n) => `${word} ${n}\n`).join('');
    expect([stdout.toString(), stderr.toString(), exit]).toEqual([lines('line'), lines('err'), { exitCode: 6 }]);
    expect(fault.hits).toBeGreaterThan(0);
  });

  test('a service that asks to be left alone for a moment loses no output', async () => {
    const { emulator, adapter, box } = await open();
    const command = await adapter.spawn(box, 'sh', ['-c', 'read -r line; echo "$line"; exit 3'], { stdin: true });
    const answer: Answer = { status: 429, headers: { 'retry-after': '1' } };
    const fault = emulator.faults.add({ ...errand('read'), answer, times: 8 });
    await until('it was asked', () => fault.hits > 0);
    await command.writeStdin('late\n');
    const { stdout, exit } = await settles('it', collect(command), 40_000);
    expect([stdout.toString(), exit]).toEqual(['late\n', { exitCode: 3 }]);
  });
});

/** Does something to one of so many messages. */
function every(
  nth: number,
  odd: (step: { data: Buffer; binary: boolean }) => readonly { data: Buffer; binary: boolean }[],
): StreamRewrite {
  return (step, index) => ('data' in step && index % nth === nth - 1 ? odd(step) : [step]);
}

function entries(length: number): object[] {
  return Array.from({ length }, (_, n) => ({ id: `id-${n}`, name: `box-${n}`, state: 'started' }));
}

async function send(emulator: DaytonaEmulator, url: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${emulator.token}`, 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
}
