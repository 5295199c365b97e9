import type { Exit, SandboxCommand, SandboxHandle, SpawnOptions, StreamOffsets } from '#libs/contract';
import type { CaseContext } from './case-context.js';
import { expectBytes, expectThat } from './expect.js';
import type { Reading } from './reading.js';
import { puppetLine, type Words } from './vocabulary.js';

/** A session that is read. */
export interface StartedSession {
  readonly command: SandboxCommand;
  readonly reading: Reading;
  readonly id: string;
}

/** Starts a detachable session and reads it. */
export async function startSession(
  t: CaseContext,
  handle: SandboxHandle,
  words: Words,
  options?: SpawnOptions,
): Promise<StartedSession> {
  const command = await t.spawn(handle, words, { detachable: true, ...options });
  return { command, reading: t.read(command), id: t.sessionId(command) };
}

/** A session that does what is written to its stdin. */
export function startPuppet(t: CaseContext, handle: SandboxHandle, options?: SpawnOptions): Promise<StartedSession> {
  return startSession(t, handle, t.words.puppet(), { stdin: true, ...options });
}

/** The puppet writes it to stdout. */
export function say(command: SandboxCommand, text: string): Promise<void> {
  return command.writeStdin(puppetLine({ out: text }));
}

/** The puppet ends. */
export function leave(command: SandboxCommand, exitCode: number): Promise<void> {
  return command.writeStdin(puppetLine({ exit: exitCode }));
}

/** Both streams of a command. */
export interface Output {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
}

/** What `count` writes. */
export function countOutput(last: number, both = false): Output {
  const numbers = Array.from({ length: last }, (_, i) => i + 1);
  const lines = (wanted: readonly number[]): Buffer => Buffer.from(wanted.map((n) => `${n}\n`).join(''));
  if (!both) return { stdout: lines(numbers), stderr: Buffer.of() };
  return { stdout: lines(numbers.filter((n) => n % 2 === 1)), stderr: lines(numbers.filter((n) => n % 2 === 0)) };
}

/** @throws {Mismatch} unless both streams came as they are here, from `from` on */
export function expectOutput(
  what: string,
  reading: Reading,
  { stdout, stderr }: Output,
  from: Partial<StreamOffsets> = {},
): void {
  expectBytes(`stdout of ${what}`, reading.stdout, stdout.subarray(from.stdout ?? 0));
  expectBytes(`stderr of ${what}`, reading.stderr, stderr.subarray(from.stderr ?? 0));
}

/** @throws {Mismatch} unless it is 128+n of death by signal n where it is told */
export function expectStopped(what: string, { exitCode, signal }: Exit): void {
  const isDeath = [143, 137].includes(exitCode) && (signal === undefined || ['SIGTERM', 'SIGKILL'].includes(signal));
  expectThat(what, isDeath, 'death by TERM or KILL', { exitCode, signal });
}
