import type { AttachOptions, Exit, SandboxCommand, SandboxHandle, SpawnOptions, StreamOffsets } from '#libs/contract';
import type { CaseContext } from './case-context.js';
import { expectBytes, expectEqual, expectThat } from './expect.js';
import type { Reading } from './reading.js';
import { puppetLine, type Words } from './vocabulary.js';

/** A command that is read. */
export interface Started {
  readonly command: SandboxCommand;
  readonly reading: Reading;
}

/** A session that is read. */
export interface StartedSession extends Started {
  readonly id: string;
}

/** Starts a command and reads it. */
export async function start(
  t: CaseContext,
  handle: SandboxHandle,
  words: Words,
  options?: SpawnOptions,
): Promise<Started> {
  const command = await t.spawn(handle, words, options);
  return { command, reading: t.read(command) };
}

/** A command that writes what is written to it. */
export async function startEcho(t: CaseContext, to: 'stdout' | 'stderr' = 'stdout'): Promise<Started> {
  return start(t, await t.sandbox(), t.words.copyStdin(to), { stdin: true });
}

/** Starts a detachable session and reads it. */
export async function startSession(
  t: CaseContext,
  handle: SandboxHandle,
  words: Words,
  options?: SpawnOptions,
): Promise<StartedSession> {
  const started = await start(t, handle, words, { detachable: true, ...options });
  return { ...started, id: t.sessionId(started.command) };
}

/** What was started with words that write `ready`, once they have. */
export async function ready<T extends Started>(starting: Promise<T>): Promise<T> {
  const started = await starting;
  await started.reading.shows('ready');
  return started;
}

/** As `startSession`, of words that write `ready`: they have begun. */
export function startReady(...args: Parameters<typeof startSession>): Promise<StartedSession> {
  return ready(startSession(...args));
}

/** A puppet that has said so much. */
export async function startSaying(t: CaseContext, handle: SandboxHandle, text: string): Promise<StartedSession> {
  const session = await startPuppet(t, handle);
  await say(session.command, text);
  await session.reading.shows(text);
  return session;
}

/** A session that does what is written to its stdin. */
export function startPuppet(t: CaseContext, handle: SandboxHandle, options?: SpawnOptions): Promise<StartedSession> {
  return startSession(t, handle, t.words.puppet(), { stdin: true, ...options });
}

/** A command that does what is written to its stdin, and is no session. */
export async function startPlainPuppet(t: CaseContext, handle?: SandboxHandle): Promise<Started> {
  return start(t, handle ?? (await t.sandbox()), t.words.puppet(), { stdin: true });
}

/** Joins a session and reads it, from where it was asked for. */
export async function attachAndRead(
  t: CaseContext,
  handle: SandboxHandle,
  id: string,
  options?: AttachOptions,
): Promise<Reading> {
  const from = options?.from;
  return t.read(await t.attach(handle, id, options), typeof from === 'object' ? { from } : {});
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

/** @throws {Mismatch} unless it ended with that code and, where it is given, wrote exactly that to stdout */
export async function expectExit(reading: Reading, exitCode: number, stdout?: Uint8Array | string): Promise<void> {
  expectEqual('exit', await reading.exit(), { exitCode });
  if (stdout !== undefined) expectBytes('the output', reading.stdout, stdout);
}

/** Has the puppet end with that code. @throws {Mismatch} unless it does, having written exactly that where it is given */
export async function expectObedient(
  command: SandboxCommand,
  reading: Reading,
  exitCode: number,
  stdout?: string,
): Promise<void> {
  await leave(command, exitCode);
  await expectExit(reading, exitCode, stdout);
}

/** @throws {Mismatch} unless exactly these sessions are listed, each once */
export async function expectListed(t: CaseContext, handle: SandboxHandle, ids: readonly string[]): Promise<void> {
  const listed = (await t.adapter.listSessions(handle)).map(({ id }) => id);
  expectEqual('sessions', listed.toSorted(), ids.toSorted());
}

/** The output of what was ended from outside comes to an end, and that is no success. @throws {Mismatch} */
export async function expectNoSuccess(t: CaseContext, { ended }: Reading): Promise<void> {
  const ending = await t.within('the end of the output', 10_000, ended);
  expectThat('the end of the output', !('exit' in ending) || ending.exit.exitCode !== 0, 'no success', ending);
}

/** As `expectNoSuccess`, of what was terminated: an exit is death by TERM or KILL. @throws {Mismatch} */
export async function expectTerminated(t: CaseContext, { ended }: Reading): Promise<void> {
  const ending = await t.within('the end of the output', 10_000, ended);
  if ('exit' in ending) expectStopped('the exit of what was terminated', ending.exit);
}

/** @throws {Mismatch} unless it is 128+n of death by signal n where it is told */
function expectStopped(what: string, { exitCode, signal }: Exit): void {
  const isDeath = [143, 137].includes(exitCode) && (signal === undefined || ['SIGTERM', 'SIGKILL'].includes(signal));
  expectThat(what, isDeath, 'death by TERM or KILL', { exitCode, signal });
}
