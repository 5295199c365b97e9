import { inspect } from 'node:util';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { SandboxHandle } from '#libs/contract';
import {
  DaytonaEmulator,
  TOOLBOX_ANSWERS,
  type Answer,
  type CallMatch,
  type DaytonaEmulatorOptions,
} from '#libs/emulators';
import { DaytonaAdapter, DaytonaOptions } from '../../src/adapters/daytona/index.js';
import { collect } from '../support/collect.js';
import { refusal } from '../support/errors.js';
import { settles, until } from '../support/until.js';

const EXECUTE: CallMatch = { method: 'POST', path: '/toolbox/:id/process/execute' };
const LOGS: CallMatch = { path: '/toolbox/:id/process/session/:session/command/:command/logs', upgrade: true };
const SESSIONS: CallMatch = { method: 'POST', path: '/toolbox/:id/process/session' };
const CREATE: CallMatch = { method: 'POST', path: '/api/sandbox' };

const said = (status: number, message: string) => ({
  status,
  json: { path: '/api/sandbox', statusCode: status, error: 'no', message },
});
const TAKEN = said(409, 'Sandbox with name box already exists');
const BAD_REQUEST = said(400, 'no');
const PAGE_409 = { status: 409, html: '<html>conflict</html>' };
const OVERLOADED = { status: 503, json: {} };
const RUNNING = { status: 200, json: { id: 'some-id', name: 'box', state: 'started' } };
const FAILED = { status: 200, json: { id: 'some-id', name: 'box', state: 'error' } };

describe('the Daytona adapter', () => {
  const opened: DaytonaEmulator[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((emulator) => emulator.close()));
  });

  const open = async (
    options: Partial<DaytonaEmulatorOptions> = {},
  ): Promise<{ emulator: DaytonaEmulator; adapter: DaytonaAdapter; client: () => DaytonaAdapter }> => {
    const emulator = await DaytonaEmulator.start(options);
    opened.push(emulator);
    const client = (): DaytonaAdapter =>
      new DaytonaAdapter(new DaytonaOptions({ apiKey: emulator.token, apiUrl: emulator.url, retryBaseMs: 10 }));
    return { emulator, adapter: client(), client };
  };

  const sh = (script: string, ...args: string[]): [string, string[]] => ['sh', ['-c', script, 'sh', ...args]];

  const codeOf = async (box: SandboxHandle, adapter: DaytonaAdapter): Promise<unknown> =>
    (await adapter.exec(box, ...sh('exit 3'))).exitCode;

  test('an exec of a command that ends soon takes one request', async () => {
    const { emulator, adapter } = await open();
    const box = await adapter.create('box');
    await adapter.exec(box, 'true');
    emulator.calls.clear();
    expect((await adapter.exec(box, ...sh('exit 4'))).exitCode).toBe(4);
    expect(emulator.calls.all.map(({ method, path }) => `${method} ${path.split('/').slice(3).join('/')}`)).toEqual([
      'POST process/execute',
    ]);
  });

  test('the output of a calm session is pushed, byte by byte, and nothing of it is left', async () => {
    const { emulator, adapter } = await open();
    const box = await adapter.create('box');
    const script = 'while read -r line; do printf "%s\\000\\001\\001\\001\\377" "$line"; done; exit 5';
    const command = await adapter.spawn(box, ...sh(script), { stdin: true });
    const whole = collect(command);
    for (let n = 0; n < 8; n += 1) await command.writeStdin(`${n}\n`);
    await emulator.calls.arrived(LOGS);
    const looks = emulator.calls.matching({ ...EXECUTE, where: reads }).length;
    for (let n = 8; n < 30; n += 1) {
      await command.writeStdin(`${n}\n`);
      await until('it is here', () => command.outputBytes === outputOf(n + 1).length);
    }
    await command.closeStdin();
    const { stdout, exit } = await settles('the command', whole);
    expect(stdout).toEqual(outputOf(30));
    expect(exit).toEqual({ exitCode: 5 });
    expect(emulator.calls.matching({ ...EXECUTE, where: reads }).length).toBeLessThan(looks + 5);
    await emulator.calls.arrived({ method: 'DELETE', path: '/toolbox/:id/process/session/:session' });
    await until('the session is gone', () => emulator.sandbox('box')?.pids.length === 0);
  });

  test.each<[string, Partial<DaytonaEmulatorOptions>]>([
    ['gives a beginning and closes', { alternatives: { logSocket: 'prefix' }, logPrefixBytes: 100 }],
    ['merges both streams', { alternatives: { splitOutput: 'ignored' } }],
    ['never tells an exit', { alternatives: { exitCode: 'never' } }],
  ])('a log that %s changes nothing of the output', async (_, options) => {
    const { emulator, adapter } = await open(options);
    const box = await adapter.create('box');
    const script =
      'n=0; while [ $n -lt 200 ]; do echo "line $n"; echo "err $n" >&2; n=$((n + 1)); sleep 0.01; done; exit 6';
    const { stdout, stderr, exit } = await settles('it', collect(await adapter.spawn(box, ...sh(script))), 60_000);
    const lines = (word: string): string => Array.from({ length: 200 }, (__, n) => `${word} ${n}\n`).join('');
    expect([stdout.toString(), stderr.toString()]).toEqual([lines('line'), lines('err')]);
    expect(exit).toEqual({ exitCode: 6 });
    expect(emulator.calls.matching(LOGS).length).toBeGreaterThan(0);
  });

  test('without sessions of the service the output comes all the same', async () => {
    const { emulator, adapter } = await open();
    const box = await adapter.create('box');
    emulator.faults.add({ ...SESSIONS, answer: { status: 500, json: { statusCode: 500 } }, times: Infinity });
    const script = 'n=0; while [ $n -lt 60 ]; do echo $n; n=$((n + 1)); sleep 0.03; done';
    const { stdout } = await settles('it', collect(await adapter.spawn(box, ...sh(script))), 30_000);
    expect(stdout.toString()).toBe(Array.from({ length: 60 }, (_, n) => `${n}\n`).join(''));
    expect(emulator.calls.matching(SESSIONS)).toHaveLength(2);
  });

  test.each([400, 404] as const)(
    'a sandbox in storage, to which the toolbox says %p, is started on use',
    async (status) => {
      const { emulator, adapter, client } = await open({ alternatives: { toolboxWhenArchived: status } });
      const box = await adapter.create('box');
      expect(await codeOf(box, adapter)).toBe(3);
      await client().suspend(box);
      await request(emulator, 'POST', '/sandbox/box/archive');
      await until('it is in storage', () => emulator.sandbox('box')?.state === 'archived');
      expect(await adapter.get(box)).toMatchObject({ status: 'suspended' });
      expect(await codeOf(box, adapter)).toBe(3);
    },
  );

  test('a sandbox that somebody else stopped is started on use, and not to read or to terminate', async () => {
    const { emulator, adapter, client } = await open();
    const box = await adapter.create('box');
    const command = await adapter.spawn(box, 'sleep', ['60'], { detachable: true });
    await client().suspend(box);
    expect(await settles('the output', refusal(command.drain()))).toMatchObject({ detail: 'session_lost' });
    await adapter.terminateSession(box, command.sessionId as string);
    expect(emulator.sandbox('box')?.state).toBe('stopped');
    expect(await codeOf(box, adapter)).toBe(3);
    expect(await adapter.listSessions(box)).toEqual([]);
    // The stop gave it the time to record how it ended.
    const { exit } = await collect(await adapter.attach(box, command.sessionId as string));
    expect(exit).toEqual({ exitCode: 143 });
  });

  test('a daemon that is not up yet is waited for', async () => {
    const { adapter } = await open({ bootRequests: 3 });
    expect(await codeOf(await adapter.create('box'), adapter)).toBe(3);
  });

  test('a name that belongs to another sandbox by now is followed, an id is not', async () => {
    const { adapter, client } = await open();
    const byId = await adapter.createNew('box');
    const byName = adapter.buildHandle('box');
    for (const one of [byId, byName]) expect(await codeOf(one, adapter)).toBe(3);
    await client().destroy(byName);
    await client().create('box');
    expect(await codeOf(byName, adapter)).toBe(3);
    expect(await refusal(adapter.exec(byId, 'true'))).toMatchObject({ code: 'not_found', effect: 'none' });
    await adapter.destroy(byId);
    expect(await adapter.get(byName)).toMatchObject({ status: 'running' });
  });

  test('a daemon that died is unavailable, and not missing', async () => {
    const { emulator, adapter } = await open();
    const box = await adapter.create('box');
    expect(await codeOf(box, adapter)).toBe(3);
    await emulator.killDaemon('box');
    expect(await refusal(adapter.exec(box, 'true', [], { timeoutMs: 20_000 }))).toMatchObject({ code: 'unavailable' });
    expect(await refusal(adapter.readFile(box, 'file'))).toMatchObject({ code: 'unavailable' });
  });

  test('no 404 of the toolbox says that a sandbox is missing', async () => {
    const { emulator, adapter } = await open();
    const box = await adapter.create('box');
    expect(await codeOf(box, adapter)).toBe(3);
    const missing = {
      status: 404,
      json: { statusCode: 404, path: '/x', message: 'Sandbox with ID or name x not found' },
    };
    emulator.faults.add({ ...EXECUTE, answer: missing, times: Infinity });
    expect(await refusal(adapter.exec(box, 'true'))).toMatchObject({ code: 'unavailable', effect: 'none' });
    emulator.faults.clear();
    emulator.faults.add({ ...EXECUTE, answer: TOOLBOX_ANSWERS.badGateway });
    expect(await refusal(adapter.exec(box, 'true'))).toMatchObject({ code: 'unavailable', effect: 'unknown' });
    expect(await codeOf(box, adapter)).toBe(3);
  });

  test('a page, or a 404 of a gateway, is no sandbox and no missing one', async () => {
    const { emulator, adapter } = await open();
    const box = await adapter.create('box');
    const get = { method: 'GET', path: '/api/sandbox/:name' };
    emulator.faults.add({ ...get, answer: { status: 200, text: '<html></html>' } });
    expect(await refusal(adapter.get(box))).toMatchObject({ code: 'provider', detail: 'malformed_reply' });
    emulator.faults.add({ ...get, answer: { status: 404, text: '<html></html>' } });
    expect(await refusal(adapter.get(box))).toMatchObject({ code: 'unavailable' });
    emulator.faults.add({
      ...get,
      answer: { status: 404, json: { statusCode: 404, path: '/x', message: 'Cannot GET /x' } },
    });
    expect(await refusal(adapter.get(box))).toMatchObject({ code: 'not_supported' });
    const options = new DaytonaOptions({
      apiKey: emulator.token,
      apiUrl: emulator.url.replace('/api', ''),
      retryBaseMs: 10,
    });
    expect(await refusal(new DaytonaAdapter(options).get(box))).toMatchObject({ code: 'provider' });
  });

  test.each(['refused_400', 'refused_403'] as const)(
    'an organization without network settings is told so: %s',
    async (how) => {
      const { adapter } = await open({ alternatives: { networkSettings: how } });
      const box = await adapter.create('box');
      expect(await refusal(adapter.applyNetworkPolicy(box, { allow: [] }))).toMatchObject({
        code: 'denied',
        effect: 'none',
      });
    },
  );

  test('a policy of more than ten names, or of no names, is refused before anything is sent', async () => {
    const { emulator, adapter } = await open();
    const box = await adapter.create('box');
    emulator.calls.clear();
    const eleven = Array.from({ length: 11 }, (_, n) => `host-${n}.test`);
    for (const allow of [eleven, ['a,b'], ['https://x.test'], ['x.test/24']]) {
      expect(await refusal(adapter.applyNetworkPolicy(box, { allow }))).toMatchObject({
        code: 'invalid',
        effect: 'none',
      });
    }
    expect(emulator.calls.all).toEqual([]);
    await adapter.applyNetworkPolicy(box, { allow: eleven.slice(1) });
    expect(emulator.sandbox('box')?.network).toMatchObject({
      networkBlockAll: true,
      domainAllowList: eleven.slice(1).join(','),
    });
    await adapter.applyNetworkPolicy(box, { allow: ['*'] });
    expect(emulator.sandbox('box')?.network).toMatchObject({ networkBlockAll: false, domainAllowList: '' });
  });

  test('what was destroyed is not listed by an index that lags behind', async () => {
    const { emulator, adapter } = await open();
    await adapter.create('box');
    expect(await adapter.listAllNames()).toEqual(['box']);
    const json = await request(emulator, 'GET', '/sandbox');
    expect(json).toMatchObject({ items: [{ name: 'box', state: 'started' }] });
    const late = emulator.faults.add({ method: 'GET', path: '/api/sandbox', answer: { status: 200, json }, times: 99 });
    await adapter.destroy(adapter.buildHandle('box'));
    expect(await adapter.listAllNames()).toEqual([]);
    expect(late.hits).toBeGreaterThan(0);
    late.remove();
    expect(await adapter.listAllNames()).toEqual([]);
  });

  test('a sandbox that failed to start, or is ephemeral, is told apart from one that is missing', async () => {
    const { emulator, adapter } = await open();
    emulator.failNext('create', { reason: 'no room' });
    expect(await refusal(adapter.create('broken'))).toMatchObject({ code: 'provider' });
    expect(await adapter.get(adapter.buildHandle('broken'))).toMatchObject({ status: 'unknown' });
    expect(await refusal(adapter.exec(adapter.buildHandle('broken'), 'true'))).toMatchObject({ code: 'provider' });
    await adapter.destroy(adapter.buildHandle('broken'));
    await request(emulator, 'POST', '/sandbox', { name: 'short', autoDeleteInterval: 0 });
    expect(await refusal(adapter.suspend(adapter.buildHandle('short')))).toMatchObject({ code: 'not_supported' });
    expect(emulator.names).toEqual(['short']);
  });

  test.each<[string, string, Answer, Answer | undefined, object]>([
    ['the word of a taken name', 'cannot be asked for', TAKEN, OVERLOADED, { code: 'already_exists', effect: 'none' }],
    ['a page with 409', 'cannot be asked for', PAGE_409, OVERLOADED, { code: 'unavailable', effect: 'unknown' }],
    ['a page with 409', 'is nobody’s', PAGE_409, undefined, { code: 'unavailable', effect: 'none' }],
    ['a 400', 'cannot be asked for', BAD_REQUEST, OVERLOADED, { code: 'unavailable', effect: 'unknown' }],
    ['a 400', 'is nobody’s', BAD_REQUEST, undefined, { code: 'invalid', effect: 'none' }],
    ['a 400', 'belongs to one that runs', BAD_REQUEST, RUNNING, { code: 'already_exists', effect: 'none' }],
    ['a 400', 'belongs to one that failed', BAD_REQUEST, FAILED, { code: 'provider', effect: 'unknown' }],
  ])(
    'createNew that gets %s, and the name %s, says no more than is known',
    async (_, _name, answer, look, expected) => {
      const { emulator, adapter } = await open();
      emulator.faults.add({ ...CREATE, answer });
      if (look) emulator.faults.add({ method: 'GET', path: '/api/sandbox/:sandbox', times: 99, answer: look });
      expect(await refusal(adapter.createNew('box'))).toMatchObject(expected);
      expect(emulator.calls.matching(CREATE).length).toBe(1);
      expect(emulator.names).toEqual([]);
    },
  );

  test('a create that is refused is done again until it is known whether the name is taken', async () => {
    const { emulator, adapter, client } = await open({ alternatives: { nameTaken: 400 } });
    await client().create('box');
    emulator.faults.add({ method: 'GET', path: '/api/sandbox/:sandbox', times: 4, answer: OVERLOADED });
    expect(await adapter.create('box')).toEqual({ provider: 'daytona', name: 'box' });
  });

  test('a file that is too large to be given is asked for once, and nothing of it is given', async () => {
    const { emulator, adapter } = await open();
    const box = await adapter.create('box');
    await adapter.exec(box, ...sh('truncate -s 268435457 large'));
    expect(await refusal(adapter.readFile(box, 'large'))).toMatchObject({ code: 'truncated', effect: 'none' });
    expect(emulator.calls.matching({ method: 'GET', path: '/toolbox/:id/files/download' }).length).toBe(1);
  });

  test('a session of somebody else is listed bare, and neither attached nor terminated', async () => {
    const { emulator, adapter } = await open();
    const box = await adapter.create('box');
    const { id } = emulator.sandbox('box') as { id: string };
    const toolbox = `${emulator.url.replace('/api', '')}/toolbox/${id}/process/session`;
    await send(emulator, 'POST', toolbox, { sessionId: 'theirs' });
    await send(emulator, 'POST', `${toolbox}/theirs/exec`, { command: 'sleep 60', runAsync: true });
    expect(await adapter.listSessions(box)).toMatchObject([{ id: 'theirs', command: 'sleep 60' }]);
    expect(await refusal(adapter.attach(box, 'theirs'))).toMatchObject({ code: 'not_supported' });
    expect(await refusal(adapter.terminateSession(box, 'theirs'))).toMatchObject({ code: 'not_supported' });
    expect(await refusal(adapter.attach(box, 'nobodys'))).toMatchObject({ code: 'not_found' });
  });

  test('a redirect is not followed, and no key goes to a toolbox that is not https where the API is', async () => {
    const { emulator, adapter } = await open();
    const box = await adapter.create('box');
    const heard: string[] = [];
    const other = createServer((incoming, response) => {
      heard.push(incoming.headers.authorization ?? '');
      response.end('{}');
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const location = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
    emulator.faults.add({ method: 'GET', path: '/api/sandbox/:name', answer: { status: 307, headers: { location } } });
    expect(await refusal(adapter.get(box))).toMatchObject({ code: 'provider', detail: 'malformed_reply' });
    for (const url of ['ftp://x/', 'http://key@127.0.0.1/', `${location}?a=b`, 'nonsense']) {
      emulator.faults.add({
        method: 'GET',
        path: '/api/sandbox/:name',
        answer: { status: 200, json: { id: '1', name: 'box', state: 'started', toolboxProxyUrl: url } },
      });
      expect(await refusal(adapter.exec(box, 'true'))).toMatchObject({ code: 'provider', detail: 'malformed_reply' });
    }
    expect(heard).toEqual([]);
    await new Promise((resolve) => other.close(resolve));
  });

  test('without a key every call is denied, and the key is shown nowhere', async () => {
    const { emulator, adapter } = await open();
    const keyless = new DaytonaAdapter(new DaytonaOptions({ apiUrl: emulator.url }));
    expect(await refusal(keyless.listAllNames())).toMatchObject({ code: 'denied', effect: 'none' });
    const wrong = new DaytonaAdapter(
      new DaytonaOptions({ apiKey: 'dtn_wrong', apiUrl: emulator.url, retryBaseMs: 10 }),
    );
    const error = await wrong.listAllNames().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'denied', effect: 'none' });
    const options = new DaytonaOptions({ apiKey: 'dtn_wrong' });
    const shown = [
      inspect(options),
      JSON.stringify(options),
      inspect(wrong, { depth: 9 }),
      inspect(error, { depth: 9 }),
    ];
    expect(shown.join()).not.toContain('dtn_wrong');
    expect(inspect(adapter, { depth: 9 })).not.toContain(emulator.token);
  });

  test.each([
    [{ apiUrl: 'nonsense' }, /apiUrl/],
    [{ apiKey: 'two words' }, /apiKey must hold printable ASCII/],
    [{ snapshot: 'two words' }, /snapshot must hold no white space/],
    [{ retryBaseMs: 0 }, /retryBaseMs must not be less than 1/],
  ])('the options %j are refused', (given, message) => {
    expect(() => new DaytonaOptions(given)).toThrow(message);
  });

  test('a sandbox is made from the snapshot that is set, to stand until it is told otherwise', async () => {
    const { emulator } = await open();
    const options = new DaytonaOptions({
      apiKey: emulator.token,
      apiUrl: emulator.url,
      snapshot: 'daytona-small',
      retryBaseMs: 10,
    });
    await new DaytonaAdapter(options).create('box');
    const [call] = emulator.calls.matching({ method: 'POST', path: '/api/sandbox' });
    expect(call?.json).toEqual({
      name: 'box',
      snapshot: 'daytona-small',
      autoStopInterval: 0,
      autoArchiveInterval: 10_080,
      autoDeleteInterval: -1,
      ttlMinutes: 0,
    });
  });
});

function outputOf(lines: number): Buffer {
  const all = Array.from({ length: lines }, (_, n) => Buffer.from(`${n}\0\x01\x01\x01\xff`, 'latin1'));
  return Buffer.concat(all);
}

const reads: NonNullable<CallMatch['where']> = ({ headers }) => headers['user-agent'] === 'nestjs-sandbox (read)';

function request(emulator: DaytonaEmulator, method: string, path: string, body?: object): Promise<unknown> {
  return send(emulator, method, `${emulator.url}${path}`, body);
}

async function send(emulator: DaytonaEmulator, method: string, url: string, body?: object): Promise<unknown> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${emulator.token}`, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${url}: ${response.status} ${text}`);
  return text === '' ? undefined : JSON.parse(text);
}
