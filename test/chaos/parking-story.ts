import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError } from 'nestjs-sandbox';
import { isRunning } from './process-state.js';
import { readerOf, spawnPrinting } from './stream-story.js';
import type { Telling } from './teller.js';

/** A stream whose sandbox is suspended, or destroyed, while it prints; then both are looked at. */
export async function tellParking(telling: Telling): Promise<void> {
  const { story, sandboxes, handle, caller, signal, report } = telling;
  const { steps, pauseSeconds } = story.printing;
  const command = await spawnPrinting(telling).catch(unlessRefused);
  const mark = caller.lastMark;
  const reading = command && readerOf(telling, command.sessionId ?? '').toEnd(command);
  reading?.catch(() => {});
  if (command) await sleep(steps * pauseSeconds * story.stopAt * 1_000);
  report({ type: 'stopping', story: story.index, at: Date.now() });
  if (story.kind === 'suspend') {
    await caller.again('suspend', () => sandboxes.suspend(handle, { signal }));
    await expectEnded(telling, mark, 'suspend');
    await expectStatus(telling, 'suspended');
    await caller.again('resume', () => sandboxes.resume(handle, { signal }));
    await expectStatus(telling, 'running');
  }
  await caller.again('destroy', () => sandboxes.destroy(handle, { signal }));
  await expectEnded(telling, mark, 'destroy');
  await expectGone(telling);
  await reading;
}

async function expectStatus({ sandboxes, handle, caller, signal }: Telling, status: string): Promise<void> {
  const info = await caller.again('get', () => sandboxes.get(handle, { signal }));
  if (info.status !== status) caller.lie(`get said ${info.status} of a sandbox that is ${status}`);
}

async function expectGone({ sandboxes, handle, caller, signal }: Telling): Promise<void> {
  try {
    await caller.again('get', () => sandboxes.get(handle, { signal }));
    caller.lie('get found a sandbox that was destroyed');
  } catch (error) {
    if (!(error instanceof SandboxError && error.code === 'not_found')) throw error;
  }
}

async function expectEnded({ caller }: Telling, mark: string, operation: string): Promise<void> {
  const pid = Number(await readFile(mark, 'utf8').catch(() => Number.NaN));
  if (pid > 0 && (await isRunning(pid))) caller.lie(`${operation} succeeded, and a command of the sandbox runs on`);
}

function unlessRefused(error: unknown): undefined {
  if (error instanceof SandboxError) return undefined;
  throw error;
}
