import type { SandboxHandle } from '#libs/contract';
import type { CaseContext } from './case-context.js';
import { expectBytes, expectEqual, expectThat } from './expect.js';
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

/** @throws {Mismatch} unless a command finds exactly this at `path` */
export async function expectFile(
  t: CaseContext,
  handle: SandboxHandle,
  path: string,
  content: Uint8Array | string,
): Promise<void> {
  expectBytes(`the file ${path}`, (await t.exec(handle, t.words.showFile(path))).output, content);
}

/** @throws {Mismatch} if there is something at `path` in the sandbox */
export async function expectNothingAt(t: CaseContext, handle: SandboxHandle, path: string): Promise<void> {
  expectEqual(`whether there is a ${path}`, await exists(t, handle, path), false);
}

/** @throws {Mismatch} unless the sandbox runs what it is given */
export async function expectUsable(t: CaseContext, handle: SandboxHandle): Promise<void> {
  expectEqual('exit code of the next exec', (await t.exec(handle, t.words.print({ exitCode: 3 }))).exitCode, 3);
}

/** @throws {Mismatch} unless that is its status; one that parks by itself may run or be suspended at any time */
export async function expectStatus(
  t: CaseContext,
  handle: SandboxHandle,
  expected: 'running' | 'suspended',
): Promise<void> {
  const allowed = t.adapter.traits.parks === 'on_request' ? [expected] : ['running', 'suspended'];
  const { status } = await t.adapter.get(handle);
  expectThat('status', allowed.includes(status), allowed.join(' or '), status);
}

/** The permissions of a file. */
export async function modeOf(t: CaseContext, handle: SandboxHandle, path: string): Promise<number> {
  return Number.parseInt((await t.exec(handle, t.words.showMode(path))).text(), 8);
}

/** Where commands begin. */
export async function homeOf(t: CaseContext, handle: SandboxHandle): Promise<string> {
  return (await t.exec(handle, t.words.echoDirectory())).text().replace(/\n$/, '');
}
