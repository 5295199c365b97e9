import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { runnerSandboxName } from '../../src/runner/index.js';
import { DaemonProcess } from '../support/daemon-process.js';
import { refusal, words } from '../support/errors.js';
import { TestApp } from '../support/nest-app.js';
import { OTHER_RUNNER_ID, OTHER_RUNNER_TOKEN, RUNNER_ID } from '../support/runners.js';
import { ScriptedDaemon } from '../support/scripted-daemon.js';
import { settles } from '../support/until.js';

let app: TestApp;
let steady: DaemonProcess;
let steadyName: string;

beforeEach(async () => {
  app = await TestApp.start();
  steady = await DaemonProcess.launch({ url: app.url });
  await app.online(RUNNER_ID);
  steadyName = (await app.sandboxes.create('runner', runnerSandboxName(RUNNER_ID))).name;
});

afterEach(async () => {
  await steady?.dispose();
  await app?.close();
});

describe('listAllNames with a runner that comes and goes', () => {
  const ITS_NAME = runnerSandboxName(OTHER_RUNNER_ID);

  const moments = ['before', 'asked', 'answered'] as const;

  const dial = () =>
    ScriptedDaemon.connect({ url: app.url, token: OTHER_RUNNER_TOKEN, name: 'flapping', instance: 'i-flap' });

  test('that is replaced by its own redial while it is asked: the whole view is refused', async () => {
    const first = await dial();
    await app.online(OTHER_RUNNER_ID);
    const listing = refusal(app.sandboxes.listAllNames('runner'));
    await first.next('list');
    const second = await dial();
    expect(await settles('the listing', listing)).toEqual({
      code: 'unavailable',
      detail: 'runner_disconnected',
      effect: 'none',
    });
    second.answer = ({ op }) => (op === 'list' ? { ok: true, result: { names: [ITS_NAME] } } : undefined);
    await app.host.saw('register', 3);
    expect((await app.sandboxes.listAllNames('runner')).toSorted()).toEqual([ITS_NAME, steadyName].toSorted());
    await second.close();
    await app.offline(OTHER_RUNNER_ID);
    expect(await app.sandboxes.listAllNames('runner')).toEqual([steadyName]);
  });

  test('60 times, at any moment of the call: no view is partial, and one without it was taken while it was away', async () => {
    const REFUSED = JSON.stringify({ code: 'unavailable', detail: 'runner_disconnected', effect: 'none' });
    const kinds = new Map([
      [JSON.stringify([ITS_NAME, steadyName].toSorted()), 'whole'],
      [JSON.stringify([steadyName]), 'without it'],
      [REFUSED, 'refused'],
    ]);
    const seen: Record<(typeof moments)[number], Set<string>> = {
      before: new Set(),
      asked: new Set(),
      answered: new Set(),
    };
    for (let round = 0; round < 60; round += 1) {
      const moment = moments[round % moments.length] as (typeof moments)[number];
      const flapping = await dial();
      await app.online(OTHER_RUNNER_ID);
      flapping.answer = ({ op }) => {
        if (op !== 'list') return undefined;
        if (moment === 'asked') {
          flapping.socket.terminate();
          return undefined;
        }
        return { ok: true, result: { names: [ITS_NAME] } };
      };
      if (moment === 'before') flapping.socket.terminate();
      const outcome = await settles(
        'the listing',
        app.sandboxes.listAllNames('runner').then((names) => names.toSorted(), words),
      );
      seen[moment].add(kinds.get(JSON.stringify(outcome)) ?? JSON.stringify(outcome));
      await flapping.close();
      await app.offline(OTHER_RUNNER_ID);
    }
    expect([...seen.answered]).toEqual(['whole']);
    // It was away: the view is without it, or is none. Which one depends on whether the host had been told.
    for (const kind of [...seen.before, ...seen.asked]) expect(['without it', 'refused']).toContain(kind);
  }, 60_000);
});
