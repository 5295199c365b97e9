import { ByteCollector, type OutputFrame } from '#libs/contract';
import { PROTOCOL_LIMITS, type RequestBody, type ResultOf, type SessionExit } from '#libs/protocol';
import { closedBeforeExit, outputLimit, timedOut } from './fake-errors.js';
import type { FakeSandbox } from './fake-sandbox.js';

export interface DaemonExecContext {
  /** Tells deadline and limit by refusals, and stderr apart; a daemon of another make knows exit codes only. */
  readonly native: boolean;
  /** Aborted when the socket has gone: nobody could take the answer, so the command is killed. */
  readonly signal: AbortSignal;
}

const KILLED = 137;

/** Plays a command to its end and answers with what it wrote. */
export async function daemonExec(
  sandbox: FakeSandbox,
  body: RequestBody<'exec'>,
  { native, signal }: DaemonExecContext,
): Promise<ResultOf<'exec'>> {
  const { cmd, args, env, dir, timeoutMs, stderrToStdout, maxOutputBytes = Infinity } = body;
  const limit = native ? Math.min(maxOutputBytes, PROTOCOL_LIMITS.execOutputBytes) : undefined;
  const session = sandbox.exec({
    cmd,
    args,
    env,
    dir,
    stderrToStdout,
    stdin: false,
    detachable: false,
    // Platforms in the field say 0 for none.
    timeoutMs: timeoutMs || undefined,
    maxOutputBytes: limit,
  });
  const kill = (): void => void session.stop(0);
  signal.addEventListener('abort', kill);
  const stdout = new ByteCollector(PROTOCOL_LIMITS.execOutputBytes);
  const stderr = new ByteCollector(PROTOCOL_LIMITS.execOutputBytes);
  const collect = ({ type, data }: OutputFrame): void => (type === 'stdout' ? stdout : stderr).append(data);
  try {
    const exit = await new Promise<SessionExit>((resolve, reject) => {
      const frame = (one: OutputFrame | SessionExit): void => (one.type === 'exit' ? resolve(one) : collect(one));
      session.output.attach({ frame, error: () => reject(closedBeforeExit()) }, undefined, Infinity);
    });
    const { exitCode: code, signal: signalName, startError, stoppedBy, gone = false } = exit;
    if (!native) return { output: stdout.bytes(), code: stoppedBy === undefined ? code : KILLED };
    if (stoppedBy === 'timeout') throw timedOut(timeoutMs, gone);
    if (stoppedBy === 'output_limit') throw outputLimit(gone);
    return { output: stdout.bytes(), stderr: stderr.bytes(), code, signal: signalName, startError };
  } finally {
    signal.removeEventListener('abort', kill);
  }
}
