import {
  CommandStream,
  SandboxError,
  StreamingCommand,
  collectExec,
  type ExecRequest,
  type ExecResult,
  type OutputFrame,
  type SandboxHandle,
} from '#libs/contract';
import type { RunnerLink, SessionExit, SessionSink } from '#libs/protocol';

/**
 * An exec as a session that is read to its end: for stdin, and for more output than one reply holds. The daemon keeps
 * deadline and limit too, and tells in the exit whether it stopped the command and saw it gone; a daemon of another
 * make does not, and then nothing is confirmed.
 */
export function execOverSpawn(link: RunnerLink, handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
  const { stdin, signal, maxOutputBytes, timeoutMs = Infinity, startedAtMs } = request;
  const sink = new ExecSink();
  return collectExec(spawn(link, handle, request, sink), {
    ...request,
    // The process reads /dev/null unless there is something to write.
    ...(stdin !== undefined && { stdin }),
    stop: async ({ outputBytes }) => {
      // Version 1 has no way to stop a command but its own limits: for anything else, leaving it has to do.
      const isDue = outputBytes > maxOutputBytes || performance.now() - startedAtMs >= timeoutMs;
      if (link.instance === undefined || signal?.aborted) return { confirmed: false };
      return { confirmed: isDue ? await sink.gone : await Promise.race([sink.gone, Promise.resolve(false)]) };
    },
  });
}

async function spawn(
  link: RunnerLink,
  handle: SandboxHandle,
  request: ExecRequest,
  sink: ExecSink,
): Promise<StreamingCommand> {
  const { cmd, args, env, dir, stderrToStdout, maxOutputBytes, timeoutMs, startedAtMs, signal } = request;
  const left =
    timeoutMs === undefined ? undefined : Math.max(1, Math.ceil(startedAtMs + timeoutMs - performance.now()));
  const stdin = request.stdin !== undefined;
  const limits = { timeoutMs: left, maxOutputBytes };
  const body = { name: handle.name, cmd, args, env, dir, stdin, detachable: false, stderrToStdout, ...limits };
  const channel = await link.open('spawn', body, sink, { signal, exec: true });
  return new StreamingCommand({
    provider: handle.provider,
    handle,
    sessionId: channel.sessionId,
    stream: sink.stream,
    channel,
    stdin,
    tty: false,
  });
}

/** Turns the exit of a command that the daemon stopped into the error that it is. */
class ExecSink implements SessionSink {
  readonly stream = new CommandStream();
  #settle!: (gone: boolean) => void;

  /** Whether the command was seen to be gone, once that is known. */
  readonly gone = new Promise<boolean>((resolve) => {
    this.#settle = resolve;
  });

  frame(frame: OutputFrame | SessionExit): void {
    if (frame.type !== 'exit') return this.stream.frame(frame);
    const { stoppedBy, gone, ...exit } = frame;
    this.#settle(gone ?? stoppedBy === undefined);
    if (stoppedBy === undefined) return this.stream.frame(exit);
    return this.stream.error(
      stoppedBy === 'timeout'
        ? new SandboxError('unavailable', { detail: 'timeout', message: 'the command ran longer than its timeoutMs' })
        : new SandboxError('truncated', { detail: 'output_limit', message: 'the command printed more than its limit' }),
    );
  }

  error(error: SandboxError): void {
    this.#settle(false);
    this.stream.error(error);
  }
}
