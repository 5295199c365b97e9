import { setTimeout as delay } from 'node:timers/promises';
import { SandboxError, type CallOptions } from '#libs/contract';
import { withinDeadline } from '../common/deadline.js';
import { commandExited, sessionLost, stdinNotOpen } from '../common/journal-errors.js';
import { newNonce } from '../common/session-id.js';
import { USE_TIMEOUT_MS, type InSandbox } from './daytona.context.js';
import { runErrandWithin, wordsIn, type Errand } from './daytona.execute.js';
import { HOLD_SECONDS } from './daytona.polling-reader.js';
import type { PatientStream } from './daytona.patient-stream.js';
import {
  awaitProgram,
  claimProgram,
  closeProgram,
  writeProgram,
  type StdinData,
  type StdinTarget,
} from './daytona.stdin-programs.js';
import { withStaged } from './daytona.upload.js';

/** What is larger goes by a request of its own, as bytes: a line of a FIFO is whole up to 4 KiB, in four times as many. */
const INLINE_BYTES = 900;
const ANSWER_MS = 20_000;
/** How long after a write the end of its session may be heard of. */
const ENDING_MS = 3_000;

/** The stdin of a session, which whoever owns it writes to. Resolves when the pipe of the process took the bytes. */
export class JournalStdin {
  readonly #context: InSandbox;
  readonly #target: StdinTarget;
  readonly #stream: PatientStream;

  constructor(context: InSandbox, target: StdinTarget, stream: PatientStream) {
    this.#context = context;
    this.#target = target;
    this.#stream = stream;
  }

  write(data: Uint8Array, options: CallOptions = {}): Promise<void> {
    return this.#stream.during(this.#write(data, options)).catch((error: unknown) => this.#lost(error));
  }

  async closeStdin({ signal }: CallOptions = {}): Promise<void> {
    const word = await this.#ask({ program: closeProgram(this.#target), again: false }, signal);
    if (word !== 'x' && word !== 'e') check(word);
  }

  /** Takes stdin over from whoever had it. Of a session that has ended there is nothing to take. */
  async claim(signal?: AbortSignal): Promise<void> {
    const word = await this.#ask({ program: claimProgram(this.#target), again: true }, signal);
    if (word !== 'x' && word !== 'n') check(word);
  }

  async #write(data: Uint8Array, { signal }: CallOptions): Promise<void> {
    if (data.byteLength === 0) return;
    const token = newNonce();
    if (data.byteLength <= INLINE_BYTES) return this.#hand(token, { bytes: data }, signal);
    await withinDeadline(USE_TIMEOUT_MS, signal, (deadline) =>
      withStaged(this.#context, data, { token, deadline, wake: false }, (uploaded) =>
        this.#hand(token, { uploaded }, signal),
      ),
    );
  }

  async #hand(token: string, data: StdinData, signal: AbortSignal | undefined): Promise<void> {
    const program = writeProgram(this.#target, token, data, HOLD_SECONDS);
    let word = await this.#ask({ program, seconds: HOLD_SECONDS, again: false }, signal);
    // That it is asked again changes nothing.
    const waiting = awaitProgram(this.#target, token, HOLD_SECONDS);
    while (word === 'w') word = await this.#ask({ program: waiting, seconds: HOLD_SECONDS, again: true }, signal);
    check(word);
  }

  /** What ended the session ends its output too, which says so a little later, in its own words. */
  async #lost(failure: unknown): Promise<never> {
    const isGone =
      failure instanceof SandboxError && (failure.code === 'not_found' || failure.detail === 'session_lost');
    if (isGone) {
      const ended = this.#stream.exit.catch(() => {});
      await Promise.race([ended, delay(ENDING_MS, undefined, { ref: false })]);
      // By now a write that the end of the command answers was answered.
      await delay(0);
    }
    throw failure;
  }

  async #ask(errand: Omit<Errand, 'purpose' | 'wake'>, signal: AbortSignal | undefined): Promise<string | undefined> {
    const { toolboxes, handle } = this.#context;
    const timeoutMs = (errand.seconds ?? 0) * 1000 + ANSWER_MS;
    const text = await runErrandWithin(
      toolboxes,
      handle,
      { ...errand, purpose: 'write', wake: false },
      timeoutMs,
      signal,
    );
    return text === undefined ? 'l' : (wordsIn(text)[0] ?? '');
  }
}

function check(word: string | undefined): void {
  if (word === 'k') return;
  if (word === 'x') throw commandExited();
  if (word === 'q') throw commandExited().with({ effect: 'unknown' });
  if (word === 'b') {
    throw new SandboxError('write_failed', { effect: 'unknown', message: 'the command has closed its stdin' });
  }
  if (word === 'e') {
    throw new SandboxError('invalid', { detail: 'stdin_closed', effect: 'none', message: 'stdin was closed' });
  }
  if (word === 'o') throw stdinNotOpen('a newer attach owns the stdin of this session');
  if (word === 'c') throw stdinNotOpen('the stdin of this session was not opened');
  throw sessionLost();
}
