import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cleanup } from '../../apps/platform/src/cleanup.js';
import { processesOf } from '../support/processes.js';
import { tempDir } from '../support/temp-dir.js';
import { HUNG_MS, BACK_MS } from './bounds.js';
import { Daemon } from './daemon.js';
import { FaultLog } from './fault-log.js';
import { FaultProxy } from './fault-proxy.js';
import type { Fault } from './faults.js';
import { Inflictor } from './inflictor.js';
import { Ledger } from './ledger.js';
import type { FromPlatform, Runner } from './messages.js';
import type { ChaosOptions } from './options.js';
import { Platform } from './platform.js';
import type { ChaosReport } from './report.js';
import { countRemains, type Stage } from './count-remains.js';

/** Of the time of a run: the rest is for what is under way to come to its end. */
export const FAULTY_PART = 0.6;
/** Of the time of a run: no command prints longer. */
const LONGEST_PART = 0.13;
const LONGEST_SECONDS = 8;

/** Sets everything up, does the planned faults to it, and counts. Leaves nothing behind, however it ends. */
export async function runChaos(
  options: ChaosOptions,
  plan: readonly Fault[],
  interrupted: AbortSignal,
): Promise<ChaosReport> {
  await using cleanup = new Cleanup((message) => void process.stderr.write(`${message}\n`));
  const stage = await setStage(options, cleanup);
  const run = perform(options, stage, plan, interrupted);
  const interruption = new Promise<never>((_, reject) => {
    interrupted.addEventListener('abort', () => reject(new Error('interrupted')), { once: true });
    if (interrupted.aborted) reject(new Error('interrupted'));
  });
  return await Promise.race([run, interruption]);
}

interface Scene extends Stage {
  readonly faults: FaultLog;
  readonly startedAt: number;
}

async function setStage({ seed, seconds, daemons: count, sessions }: ChaosOptions, cleanup: Cleanup): Promise<Scene> {
  const startedAt = performance.now();
  const directory = await tempDir('chaos-run');
  cleanup.defer('Removing the directory of the run', () => directory.remove());
  cleanup.defer('Ending what is left of the run', async () => {
    for (const pid of await processesOf(directory.path)) end(pid);
  });
  const [temporary, marks] = [join(directory.path, 'tmp'), join(directory.path, 'marks')];
  for (const path of [temporary, marks]) await mkdir(path);

  const source = { seed, daemons: count, longestSeconds: Math.min(LONGEST_SECONDS, seconds * LONGEST_PART) };
  const runners: Runner[] = Array.from({ length: count }, () => ({
    id: randomUUID(),
    token: randomBytes(32).toString('base64url'),
  }));
  const faults = new FaultLog();
  const ledger = new Ledger(source, faults);
  const complain = (what: string): void => {
    ledger.tally.add(what.includes('MaxListeners') ? 'leakedListeners' : 'failures', what);
  };
  const platform = new Platform({
    ...source,
    sessions,
    runners,
    marks,
    temporary,
    complain,
    on: (message) => hear(message, ledger, faults),
    gone: () => faults.presence(undefined, false),
  });
  cleanup.defer('Ending the platform', () => platform.kill());
  const daemons = await Promise.all(
    runners.map(async (runner, index) => {
      const proxy = await FaultProxy.listen();
      cleanup.defer('Closing a proxy', () => proxy.close());
      const root = join(directory.path, `root-${index}`);
      const daemon = new Daemon({ index, runner, root, temporary, proxy, complain });
      cleanup.defer('Ending a daemon', () => daemon.kill());
      return daemon;
    }),
  );
  return { directory: directory.path, temporary, platform, daemons, ledger, faults, startedAt };
}

function hear(message: FromPlatform, ledger: Ledger, faults: FaultLog): void {
  if (message.type === 'report') for (const evidence of message.evidence) ledger.take(evidence);
  else if (message.type === 'presence') faults.presence(message.daemon, message.online, message.at);
}

async function perform(
  options: ChaosOptions,
  stage: Scene,
  plan: readonly Fault[],
  interrupted: AbortSignal,
): Promise<ChaosReport> {
  const { platform, daemons, ledger, faults, startedAt } = stage;
  const started = faults.begin('start', undefined);
  const inflictor = new Inflictor(stage, faults, interrupted);
  await platform.start();
  inflictor.retarget();
  for (const daemon of daemons) daemon.start();
  await allOnline(stage, interrupted);
  started();
  const baseline = await (daemons[0] as Daemon).counts();

  const faultyMs = options.seconds * FAULTY_PART * 1_000;
  await inflictor.inflict(plan, faultyMs);
  await allOnline(stage, interrupted);
  const finished = await platform.ask({ type: 'finish' }, 'finished', HUNG_MS + BACK_MS).catch(() => undefined);
  if (!finished) {
    const open = platform.open.map(({ index }) => index).join(', ');
    ledger.tally.add('hungPromises', `stories without an end: ${open}`, Math.max(1, platform.open.length));
  }
  await countRemains(stage, baseline);
  await ledger.judge(timesRun);
  return {
    options: (({ seed, seconds, daemons: count, sessions }) => ({ seed, seconds, daemons: count, sessions }))(options),
    tookSeconds: Math.round((performance.now() - startedAt) / 1_000),
    stories: { begun: platform.begun, exits: ledger.ended },
    bytesRead: ledger.bytesRead,
    faults: inflictor.done,
    refused: ledger.refused,
    counters: ledger.tally.value,
    findings: ledger.tally.findings,
  };
}

/** @throws {Error} when it is interrupted: then they never come online */
async function allOnline({ daemons, faults, ledger }: Scene, interrupted: AbortSignal): Promise<void> {
  const missing = (): number[] => daemons.flatMap((_, index) => (faults.isOnline(index) ? [] : [index]));
  for (
    const before = Date.now() + 2 * BACK_MS;
    missing().length > 0;
    await sleep(20, undefined, { signal: interrupted })
  ) {
    if (Date.now() < before) continue;
    ledger.tally.add('failures', `these daemons do not come online: ${missing().join(', ')}`);
    return;
  }
}

/** Each run of a command has added a line to its file. */
async function timesRun(mark: string): Promise<number> {
  const text = await readFile(mark, 'utf8').catch(() => '');
  return text.split('\n').length - 1;
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}
