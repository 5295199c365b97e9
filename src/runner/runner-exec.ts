import {
  MAX_TIMEOUT_MS,
  SandboxError,
  execResult,
  type ExecRequest,
  type ExecResult,
  type SandboxHandle,
} from '#libs/contract';
import type { ProtocolLimits, RunnerLink } from '#libs/protocol';
import { execTimeout, outputLimit } from './runner-errors.js';
import { execOverSpawn } from './runner-exec-spawn.js';

/** What the exits of `timeout(1)` and of a KILL look like. */
const LOOKS_LIKE_TIMEOUT: ReadonlySet<number> = new Set([124, 137]);
const SIGNAL = /^SIG[A-Z0-9]{1,12}$/;

/** Runs a command to its end on the runner behind `link`. */
export async function runnerExec(
  link: RunnerLink,
  handle: SandboxHandle,
  request: ExecRequest,
  limits: ProtocolLimits,
): Promise<ExecResult> {
  const { stdin, maxOutputBytes } = request;
  // One request has room for neither.
  if (stdin !== undefined || maxOutputBytes > limits.execOutputBytes) return execOverSpawn(link, handle, request);
  return execInOneRequest(link, handle, request, limits);
}

async function execInOneRequest(
  link: RunnerLink,
  handle: SandboxHandle,
  request: ExecRequest,
  limits: ProtocolLimits,
): Promise<ExecResult> {
  const { cmd, args, env, dir, stderrToStdout, maxOutputBytes, signal } = request;
  const timeoutMs = leftOf(request);
  const sentAt = performance.now();
  const body = { name: handle.name, cmd, args, env, dir, timeoutMs, stderrToStdout, maxOutputBytes };
  // Without a deadline it may run as long as the socket lives.
  const patienceMs = timeoutMs === undefined ? null : Math.min(timeoutMs + limits.transportGraceMs, MAX_TIMEOUT_MS);
  const reply = await link
    .request('exec', body, { timeoutMs: patienceMs, signal })
    .catch((error: unknown) => Promise.reject(timeoutMs === undefined ? error : asTimeout(error)));
  const { output, stderr, code: exitCode, startError } = reply;
  if (timeoutMs !== undefined && link.instance === undefined && LOOKS_LIKE_TIMEOUT.has(exitCode)) {
    // Such a daemon answers its own kill the same way as a command's exit.
    const tookMs = performance.now() - sentAt;
    if (tookMs >= timeoutMs) throw execTimeout('unknown', `ended with ${exitCode} after its ${timeoutMs} ms were over`);
  }
  if (output.byteLength + (stderr?.byteLength ?? 0) > maxOutputBytes) throw outputLimit(maxOutputBytes);
  const ended = reply.signal !== undefined && SIGNAL.test(reply.signal) ? (reply.signal as NodeJS.Signals) : undefined;
  return execResult({ exitCode, signal: ended, startError, output, stderr });
}

/** What is left of the caller's deadline: finding the runner took its share. */
function leftOf({ timeoutMs, startedAtMs }: ExecRequest): number | undefined {
  if (timeoutMs === undefined) return undefined;
  const left = Math.ceil(startedAtMs + timeoutMs - performance.now());
  if (left <= 0) throw execTimeout('none', `${timeoutMs} ms were over before it was sent`);
  return left;
}

/** The daemon itself did not keep the deadline. */
function asTimeout(error: unknown): unknown {
  if (!(error instanceof SandboxError) || error.detail !== 'runner_timeout') return error;
  // What never left the queue did nothing.
  const effect = error.effect === 'none' ? 'none' : 'unknown';
  return execTimeout(effect, 'the runner did not answer by its deadline', error);
}
