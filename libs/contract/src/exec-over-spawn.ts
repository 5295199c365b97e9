import { abortedError } from './aborted.js';
import { ByteCollector } from './byte-collector.js';
import type { ByteSource } from './bytes.js';
import type { SandboxCommand } from './command.js';
import { execResult } from './exec-result.js';
import { feedStdin } from './feed-stdin.js';
import type { ExecResult, OutputFrame } from './frames.js';
import type { CallOptions } from './operations.js';
import { SandboxError } from './sandbox-error.js';

/** How long after a deadline, a limit or an abort the stop may take, in milliseconds. */
const STOP_PATIENCE_MS = 5_000;

/** How `collectExec` runs a command to its end; an `ExecRequest` with `stop` beside it fits. */
export interface CollectExecOptions extends CallOptions {
  /** Of both streams together. */
  readonly maxOutputBytes: number;
  /** Milliseconds from `startedAtMs`. @default none */
  readonly timeoutMs?: number;
  /** `performance.now()` when the call began. @default now */
  readonly startedAtMs?: number;
  /** Written while output is read, then EOF. Needs a command with stdin. @default nothing is written or closed */
  readonly stdin?: ByteSource;
  /** Both streams into `output` as they arrive, and no `stderr`. @default false */
  readonly stderrToStdout?: boolean;
  /**
   * Stops the process for good: TERM, KILL 2 s later. `confirmed` only if it was seen gone. Called at most once. A
   * rejection counts as not confirmed.
   */
  readonly stop: (command: SandboxCommand) => Promise<{ readonly confirmed: boolean }>;
}

/**
 * An exec over a spawned command: feeds stdin, collects the output and gives the measured exit. `command` may still
 * be starting: the deadline counts that too. The output must be unread.
 *
 * A process that ends, or closes its stdin, without reading all of it is no error. Whatever else goes wrong stops the
 * process; the call then rejects when the stop is settled, at the latest 5 s later, with effect `done` if it was
 * confirmed and `unknown` if not.
 *
 * @throws {SandboxError} `unavailable` / `timeout`; `truncated` / `output_limit`; `aborted`; `invalid` / `argument`
 *   when the source of stdin failed; what ended the output without an exit; as it is: what kept the command from
 *   starting
 */
export async function collectExec(
  command: SandboxCommand | PromiseLike<SandboxCommand>,
  options: CollectExecOptions,
): Promise<ExecResult> {
  const starting = Promise.resolve(command);
  const limits = new Limits(options);
  try {
    const started = await Promise.race([starting, limits.broken]);
    if (started instanceof SandboxError) throw await stopped(starting, options, started);
    const ended = await Promise.race([run(started, options, limits), limits.broken]);
    if (ended instanceof SandboxError) throw await stopped(starting, options, ended);
    return ended;
  } finally {
    limits.dispose();
  }
}

/** Watches the clock and the signal. `broken` settles with the first thing that ends the exec before its process. */
class Limits {
  readonly broken: Promise<SandboxError>;
  readonly #timer: NodeJS.Timeout | undefined;
  readonly #signal: AbortSignal | undefined;
  #break!: (error: SandboxError) => void;
  readonly #abort = (): void => this.#break(abortedError(this.#signal as AbortSignal, 'unknown', 'exec'));

  constructor({ timeoutMs, startedAtMs = performance.now(), signal }: CollectExecOptions) {
    this.broken = new Promise((resolve) => {
      this.#break = resolve;
    });
    this.#signal = signal;
    if (signal?.aborted) this.#abort();
    signal?.addEventListener('abort', this.#abort);
    if (timeoutMs === undefined) return;
    this.#timer = setTimeout(
      () =>
        this.break(
          new SandboxError('unavailable', {
            detail: 'timeout',
            message: `the command ran longer than ${timeoutMs} ms`,
          }),
        ),
      Math.max(0, startedAtMs + timeoutMs - performance.now()),
    );
  }

  break(error: SandboxError): void {
    this.#break(error);
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#abort);
  }
}

async function run(
  command: SandboxCommand,
  options: CollectExecOptions,
  limits: Limits,
): Promise<ExecResult | SandboxError> {
  const { maxOutputBytes, stderrToStdout = false, stdin } = options;
  const output = new ByteCollector(maxOutputBytes);
  const stderr = stderrToStdout ? undefined : new ByteCollector(maxOutputBytes);
  // Beyond the limit reading goes on, so that a process which cleans up on TERM is not blocked.
  const collect = ({ type, data }: OutputFrame) => {
    const length = output.length + (stderr?.length ?? 0) + data.byteLength;
    if (length > maxOutputBytes) limits.break(outputLimit(maxOutputBytes));
    else (type === 'stderr' ? (stderr ?? output) : output).append(data);
  };
  if (stdin !== undefined) feedStdin(command, stdin).catch((error: SandboxError) => limits.break(error));
  try {
    const exit = await command.forEach(collect);
    return execResult({ ...exit, output: output.bytes(), ...(stderr && { stderr: stderr.bytes() }) });
  } catch (error) {
    return error as SandboxError;
  }
}

/** `error` with the effect that the stop of the process proves. */
async function stopped(
  starting: Promise<SandboxCommand>,
  options: CollectExecOptions,
  error: SandboxError,
): Promise<SandboxError> {
  const stopping = starting.then(options.stop).then(
    ({ confirmed }) => confirmed,
    () => false,
  );
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), STOP_PATIENCE_MS);
  });
  const confirmed = await Promise.race([stopping, patience]);
  clearTimeout(timer);
  // Nobody reads on: what a process that could not be stopped still writes must not wait here.
  starting.then((command) => command.stop()).catch(() => {});
  return error.with({ effect: confirmed ? 'done' : 'unknown' });
}

function outputLimit(maxOutputBytes: number): SandboxError {
  return new SandboxError('truncated', {
    detail: 'output_limit',
    message: `the command wrote more than ${maxOutputBytes} bytes`,
  });
}
