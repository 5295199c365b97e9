import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { SandboxHandle } from '#libs/contract';
import { runnerSandboxName } from '../../src/runner/index.js';
import { collect } from '../support/collect.js';
import { refusal, words } from '../support/errors.js';
import { TestApp } from '../support/nest-app.js';
import { RUNNER_ID, RUNNER_TOKEN } from '../support/runners.js';
import { ScriptedDaemon } from '../support/scripted-daemon.js';
import { settles, until } from '../support/until.js';

const DISCONNECTED = { code: 'unavailable', detail: 'runner_disconnected', effect: 'unknown' };

let app: TestApp;
const handle: SandboxHandle = { provider: 'runner', name: runnerSandboxName(RUNNER_ID) };

beforeAll(async () => {
  app = await TestApp.start();
});

afterAll(async () => {
  await app?.close();
});

/** A scripted daemon that is registered. */
async function dial(): Promise<ScriptedDaemon> {
  const daemon = await ScriptedDaemon.connect({
    url: app.url,
    token: RUNNER_TOKEN,
    name: 'scripted',
    instance: randomUUID(),
  });
  await app.online(RUNNER_ID);
  return daemon;
}

test('bug 26: 200 daemons that come and go in every way leave nothing, each unregistered once', async () => {
  const warnings: string[] = [];
  const warned = (warning: Error): number => warnings.push(warning.name);
  process.on('warning', warned);
  const calls: Promise<unknown>[] = [];
  for (let round = 0; round < 200; round += 1) {
    const daemon = await dial();
    if (round % 3 === 0) {
      calls.push(refusal(app.sandboxes.exec(handle, 'x', [])));
      await daemon.next('exec');
    }
    if (round % 2 === 0) daemon.socket.terminate();
    else daemon.socket.close(1000);
    await app.offline(RUNNER_ID);
  }
  expect(await settles('the calls', Promise.all(calls))).toEqual(calls.map(() => DISCONNECTED));
  await app.host.saw('presence offline', 200);
  process.off('warning', warned);
  expect(['register', 'unregister', 'presence online', 'presence offline'].map((call) => app.host.count(call))).toEqual(
    [200, 200, 200, 200],
  );
  await until('no connection is left', () => app.gateway.stats().connections === 0);
  expect(app.gateway.stats()).toMatchObject({ pendingRequests: 0, unsentRequests: 0, sessions: 0, queuedBytes: 0 });
  expect(warnings).toEqual([]);
});

test('bug 64: what was on its way when the link broke is not sent again, and its caller is told what is unknown', async () => {
  const daemon = await dial();
  const spawning = app.sandboxes.spawn(handle, 'x', [], { stdin: true, detachable: true });
  daemon.ok(await daemon.next('spawn'), { session_id: 's-1' });
  const command = await spawning;
  const stream = collect(command);
  const calls = {
    stdin: refusal(command.writeStdin('once')),
    exec: refusal(app.sandboxes.exec(handle, 'x', [])),
    spawn: refusal(app.sandboxes.spawn(handle, 'x', [])),
    write_file: refusal(app.sandboxes.writeFile(handle, 'x', 'once')),
    destroy: refusal(app.sandboxes.destroy(handle)),
  };
  for (const op of Object.keys(calls)) await daemon.next(op);
  await daemon.close();
  for (const [op, call] of Object.entries(calls)) expect([op, await call]).toEqual([op, DISCONNECTED]);
  expect(words((await stream).error)).toMatchObject({ code: 'unavailable', detail: 'runner_disconnected' });
  await app.offline(RUNNER_ID);

  const next = await dial();
  await next.processed();
  const listing = app.sandboxes.listSessions(handle);
  next.ok(await next.next('list_sessions'), { sessions: [] });
  expect(await listing).toEqual([]);
  expect(next.requests.all.map(({ op }) => op)).toEqual(['list_sessions']);
  await next.close();
  await app.offline(RUNNER_ID);
});

test.each([1000, 1001, 1011, 1012, 4404, undefined])(
  'bug 79: a daemon that ends the link with %s settles every call once',
  async (code) => {
    const daemon = await dial();
    const settled: unknown[] = [];
    const exec = app.sandboxes.exec(handle, 'x', []).then(
      (result) => settled.push(result),
      (error: unknown) => settled.push(words(error)),
    );
    await daemon.next('exec');
    // A reply that names no request is nobody's.
    daemon.send({ ok: true, result: { output: '', code: 0 } });
    await daemon.processed();
    expect(settled).toEqual([]);
    if (code === undefined) daemon.socket.terminate();
    else daemon.socket.close(code);
    await settles('the exec', exec);
    expect(settled).toEqual([DISCONNECTED]);
    await app.offline(RUNNER_ID);
    expect(await refusal(app.sandboxes.exec(handle, 'x', []))).toEqual({
      code: 'unavailable',
      detail: 'runner_offline',
      effect: 'none',
    });
  },
);

test('bug 71: of a runner that cannot be reached nothing is called gone, and no listing leaves it out in silence', async () => {
  const daemon = await dial();
  const listing = refusal(app.sandboxes.listAllNames('runner'));
  const request = await daemon.next('list');
  daemon.send({ id: request.id, ok: false, error: 'unavailable', detail: 'busy' });
  expect(await listing).toMatchObject({ code: 'unavailable' });
  const garbled = refusal(app.sandboxes.listAllNames('runner'));
  daemon.ok(await daemon.next('list'), { names: 'all' });
  expect(await garbled).toMatchObject({ code: 'provider', detail: 'malformed_reply' });
  await daemon.close();
  await app.offline(RUNNER_ID);
  for (const call of [app.sandboxes.get(handle), app.sandboxes.destroy(handle), app.sandboxes.listSessions(handle)]) {
    expect(await refusal(call)).toEqual({ code: 'unavailable', detail: 'runner_offline', effect: 'none' });
  }
});

test('bug 82: a daemon that does not know an operation is asked once and reported as not supporting it', async () => {
  const daemon = await dial();
  const listing = refusal(app.sandboxes.listSessions(handle));
  const request = await daemon.next('list_sessions');
  daemon.send({ id: request.id, ok: false, error: 'not_supported', detail: 'unknown op list_sessions' });
  expect(await listing).toMatchObject({ code: 'not_supported', effect: 'none' });
  await daemon.processed();
  expect(daemon.requests.all).toHaveLength(1);
  await daemon.close();
  await app.offline(RUNNER_ID);
});

test('bug 77: 1 500 calls of a daemon that never answers are held to a limit, and all settle when it goes', async () => {
  const daemon = await dial();
  const calls = Array.from({ length: 1_500 }, () => refusal(app.sandboxes.exec(handle, 'x', [])));
  const refused = { code: 'unavailable', detail: 'in_flight_limit', effect: 'none' };
  await until('all that may wait do', () => app.gateway.stats().pendingRequests === 1_024);
  await daemon.close();
  const outcomes = await settles('the calls', Promise.all(calls));
  const times = (expected: unknown): number =>
    outcomes.filter((outcome) => JSON.stringify(outcome) === JSON.stringify(expected)).length;
  expect([times(refused), times(DISCONNECTED)]).toEqual([1_500 - 1_024, 1_024]);
  await app.offline(RUNNER_ID);
  await until('no connection is left', () => app.gateway.stats().connections === 0);
  expect(app.gateway.stats()).toMatchObject({ pendingRequests: 0, unsentRequests: 0, sessions: 0 });
});
