import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { SandboxHandle } from '#libs/contract';
import { E2bEmulator, type CallMatch, type Fault, type FaultEffect, type StreamRewrite } from '#libs/emulators';
import { E2bAdapter, E2bOptions } from '../../src/adapters/e2b/index.js';
import { refusal } from '../support/errors.js';
import { allGone, appeared, sleepMarker } from '../support/processes.js';
import { settles, until } from '../support/until.js';

const START: CallMatch = { method: 'POST', path: '/process.Process/Start' };
const INPUT: CallMatch = { method: 'POST', path: '/process.Process/SendInput' };
/** What a shell is told to run; lines to a terminal that ask whether it reads are short. */
const PROGRAM: CallMatch = { ...INPUT, where: ({ headers }) => Number(headers['content-length']) > 1_000 };
const LOST: FaultEffect = { reset: true, effect: 'applied' };
const UNKNOWN = { code: 'unavailable', effect: 'unknown' };
const TTY = { cols: 80, rows: 24 };

/** A command with a child of its own that runs on. */
const lasting = (marker: string): [string, string[]] => ['sh', ['-c', `sleep ${marker} & sleep ${marker}; wait`]];

describe('a command on E2B whose start got no answer', () => {
  const opened: E2bEmulator[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((emulator) => emulator.close()));
  });

  const open = async (timeoutMs = 30_000) => {
    const emulator = await E2bEmulator.start();
    opened.push(emulator);
    const urls = { baseUrl: emulator.url, sandboxUrl: emulator.url };
    const adapter = new E2bAdapter(new E2bOptions({ apiKey: emulator.apiKey, ...urls, timeoutMs, retryBaseMs: 5 }));
    const box = await adapter.create('box');
    const { id, home } = emulator.sandbox(emulator.ids[0] as string) as { id: string; home: string };
    const pids = (): readonly number[] => emulator.sandbox(id)?.pids ?? [];
    return { emulator, adapter, box, id, home, pids };
  };

  const journals = async (home: string): Promise<string[]> => {
    const kinds = ['runs', 'sessions'].map((kind) => readdir(join(home, '.nestjs-sandbox', kind)).catch(() => []));
    return (await Promise.all(kinds)).flat();
  };
  /** All of it, with its journal, and whatever stopped it. */
  const gone = async (marker: string, home: string, pids: () => readonly number[]): Promise<void> => {
    await until('the service has none of it', () => pids().length === 0);
    await until('its journal is gone', async () => (await journals(home)).length === 0);
    await allGone(marker);
  };
  /** The stream is cut in the place of the first thing that the shim says. */
  const cutFirstWord: StreamRewrite = (step) => {
    if (!('data' in step)) return [step];
    const [, text = ''] = /"(?:stdout|pty)":"([^"]*)"/.exec(step.data.toString()) ?? [];
    return Buffer.from(text, 'base64').includes('@r ') ? [{ close: 1006 }] : [step];
  };

  type Start = (adapter: E2bAdapter, box: SandboxHandle, marker: string, signal?: AbortSignal) => Promise<unknown>;
  const spawn = (how: object): Start => {
    return (adapter, box, marker, signal) =>
      adapter.spawn(box, ...lasting(marker), { ...how, ...(signal && { signal }) });
  };
  const exec: Start = (adapter, box, marker, signal) => {
    return adapter.exec(box, ...lasting(marker), { ...(signal && { signal }) });
  };
  const starts: [string, Start][] = [
    ['a spawn', spawn({})],
    ['a detachable spawn', spawn({ detachable: true })],
    ['a terminal', spawn({ tty: TTY })],
    ['an exec', exec],
  ];
  const losses: [string, Fault][] = [
    ['the answer to its program', { ...PROGRAM, ...LOST }],
    ['its program answered by a gateway', { ...PROGRAM, effect: 'applied', answer: { status: 504 } }],
    ['its first word', { ...START, rewrite: cutFirstWord }],
  ];

  test.each(starts.flatMap(([what, start]) => losses.map(([lost, fault]) => [what, lost, start, fault] as const)))(
    'is stopped: %s that lost %s',
    async (_what, _lost, start, fault) => {
      const { emulator, adapter, box, home, pids } = await open();
      emulator.faults.add(fault);
      const marker = sleepMarker();
      expect(await refusal(start(adapter, box, marker))).toMatchObject(UNKNOWN);
      await gone(marker, home, pids);
      expect(adapter.stats()).toMatchObject({ sandboxesInUse: 0, openStreams: 0 });
    },
    40_000,
  );

  test.each(starts)(
    'is stopped when it is given up: %s',
    async (_, start) => {
      const { emulator, adapter, box, home, pids } = await open();
      emulator.faults.add({ ...PROGRAM, delayMs: Infinity });
      const controller = new AbortController();
      const marker = sleepMarker();
      const running = refusal(start(adapter, box, marker, controller.signal));
      await appeared(`sleep ${marker}`, 3);
      controller.abort();
      expect(await running).toMatchObject({ code: 'aborted', effect: 'unknown' });
      await gone(marker, home, pids);
    },
    40_000,
  );

  test('is stopped soon after the time of its exec is up', async () => {
    const { emulator, adapter, box, home, pids } = await open();
    emulator.faults.add({ ...PROGRAM, delayMs: Infinity });
    const marker = sleepMarker();
    const running = refusal(adapter.exec(box, ...lasting(marker), { timeoutMs: 1_000 }));
    const late = { code: 'unavailable', detail: 'timeout', effect: 'unknown' };
    expect(await settles('the exec', running, 8_000)).toEqual(late);
    await gone(marker, home, pids);
  }, 40_000);

  test('is stopped although the first stop was lost as well', async () => {
    const { emulator, adapter, box, home, pids } = await open();
    emulator.faults.add({ ...PROGRAM, ...LOST });
    emulator.faults.add({ ...START, nth: 2, reset: true });
    const marker = sleepMarker();
    expect(await refusal(adapter.spawn(box, ...lasting(marker)))).toMatchObject(UNKNOWN);
    await gone(marker, home, pids);
  }, 40_000);

  test('is stopped although it has begun, and the stop of its exec was lost', async () => {
    const { emulator, adapter, box, home, pids } = await open();
    const controller = new AbortController();
    const marker = sleepMarker();
    const running = refusal(adapter.exec(box, ...lasting(marker), { signal: controller.signal }));
    await appeared(`sleep ${marker}`, 3);
    emulator.faults.add({ ...START, reset: true });
    controller.abort();
    expect(await running).toMatchObject({ code: 'aborted', effect: 'unknown' });
    await gone(marker, home, pids);
  }, 40_000);

  test.each([
    ['pipe', {}],
    ['terminal', { tty: TTY }],
  ])(
    'leaves no shell behind that waits for its program: on a %s',
    async (_, how) => {
      const { emulator, adapter, box, home, pids } = await open();
      emulator.faults.add({ ...PROGRAM, reset: true });
      expect(await refusal(adapter.spawn(box, 'touch', ['ran'], how))).toMatchObject(UNKNOWN);
      await until('nothing is left', () => pids().length === 0);
      expect(await readdir(home)).not.toContain('ran');
    },
    40_000,
  );

  test.each<[string, (adapter: E2bAdapter, box: SandboxHandle, emulator: E2bEmulator, id: string) => Promise<unknown>]>(
    [
      ['here', (adapter, box) => adapter.suspend(box)],
      [
        'by others',
        (_adapter, _box, { url, apiKey }, id) =>
          fetch(`${url}/sandboxes/${id}/pause`, { method: 'POST', headers: { 'x-api-key': apiKey } }),
      ],
    ],
  )(
    'wakes no sandbox that is paused %s',
    async (_, pause) => {
      const { emulator, adapter, box, id } = await open(1_000);
      emulator.faults.add({ ...PROGRAM, ...LOST });
      const stop = emulator.faults.add({ ...START, nth: 2, times: Infinity, delayMs: Infinity });
      expect(await refusal(adapter.spawn(box, ...lasting(sleepMarker())))).toMatchObject(UNKNOWN);
      await until('a stop is on its way', () => stop.hits > 0);
      await pause(adapter, box, emulator, id);
      stop.remove();
      await until('it is given up', () => adapter.stats().sandboxesInUse === 0);
      expect(emulator.sandbox(id)?.state).toBe('paused');
    },
    30_000,
  );
});
