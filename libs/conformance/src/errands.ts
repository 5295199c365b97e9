import type { SandboxHandle } from '#libs/contract';
import type { CaseContext } from './case-context.js';
import { expectThat } from './expect.js';
import type { Errand } from './vocabulary.js';

/** Many times what `family` and `background` need to see their trigger. */
const PATIENCE_MS = 400;

/** Resolves once there is something at `path` in the sandbox. */
export async function untilExists(t: CaseContext, handle: SandboxHandle, path: string): Promise<void> {
  await t.eventually(`that ${path} is made`, async () => (await exists(t, handle, path)) || undefined);
}

/** Whether there is something at `path` in the sandbox. */
export async function exists(t: CaseContext, handle: SandboxHandle, path: string): Promise<boolean> {
  return (await t.exec(handle, t.words.exists(path))).exitCode === 0;
}

/** Whoever ran this errand is gone: its trigger comes, and its mark does not. @throws {Mismatch} */
export async function expectGone(t: CaseContext, handle: SandboxHandle, { trigger, mark }: Errand): Promise<void> {
  await t.exec(handle, t.words.touch(trigger));
  await t.exec(handle, t.words.pause(PATIENCE_MS));
  expectThat('a process that must be gone', !(await exists(t, handle, mark)), 'no sign of it', `it made ${mark}`);
}
