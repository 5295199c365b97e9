import type { Exchange } from '../kit/exchange.js';
import { ConnectFailure, streamRequest, type ConnectError } from './connect-protocol.js';
import { rpcUser } from './envd-auth.js';
import type { EnvdProcess } from './envd-process.js';
import { EventStream } from './event-stream.js';
import type { Sandbox } from './sandbox.js';
import { startRequestOf } from './start-request.js';

const KEEPALIVE_SECONDS = 90;
const TIMED_OUT: ConnectError = { code: 'deadline_exceeded', message: 'context deadline exceeded' };

/** `Start`: the process outlives the stream, though not what `Connect-Timeout-Ms` gives it. */
export async function startProcess(exchange: Exchange, sandbox: Sandbox): Promise<void> {
  await streaming(exchange, sandbox, async (stream) => {
    const user = rpcUser(sandbox, exchange);
    const request = startRequestOf(await streamRequest(exchange));
    const process = await sandbox.processes.start(request, user, exchange.closing);
    const timeout = timeoutOf(exchange);
    if (timeout !== undefined && timeout > 0) process.limit(timeout, stream, TIMED_OUT);
    join(stream, process);
    process.open();
    endsAtOnce(sandbox, stream, timeout);
  });
}

/** `Connect`: what a process prints from here on. */
export async function connectProcess(exchange: Exchange, sandbox: Sandbox): Promise<void> {
  await streaming(exchange, sandbox, async (stream) => {
    const { process: selector } = await streamRequest(exchange);
    const timeout = timeoutOf(exchange);
    const remembered = sandbox.processes.remembered(selector);
    if (remembered) {
      stream.event({ start: { pid: remembered.pid } });
      stream.event(remembered.end);
      return stream.finish();
    }
    const process = sandbox.processes.find(selector);
    if (timeout !== undefined && timeout > 0) {
      const callOff = sandbox.clock.after(timeout, () => {
        process.detach(stream);
        stream.finish(TIMED_OUT);
      });
      void stream.done.then(callOff);
    }
    if (process.blocked && sandbox.settings.alternatives.ghostConnect === 'no_answer') process.attach(stream);
    else join(stream, process);
    if (process.blocked) stream.silence();
    return endsAtOnce(sandbox, stream, timeout);
  });
}

/** Serves a stream to its end. What goes wrong is told inside the 200. */
async function streaming(
  exchange: Exchange,
  sandbox: Sandbox,
  serve: (stream: EventStream) => Promise<void>,
): Promise<void> {
  const keepaliveMs = keepaliveOf(exchange, sandbox);
  if (keepaliveMs === undefined) return exchange.cut();
  const stream = new EventStream(exchange, keepaliveMs);
  try {
    await serve(stream);
  } catch (error) {
    if (!(error instanceof ConnectFailure)) throw error;
    stream.finish({ code: error.code, message: error.message });
  }
  if (sandbox.settings.alternatives.pausedStreams !== 'cut') sandbox.outlivesPause(exchange);
  if (exchange.unheard) stream.cut();
  return await stream.done;
}

function join(stream: EventStream, process: EnvdProcess): void {
  stream.event({ start: { pid: process.pid } });
  process.attach(stream);
}

function endsAtOnce(sandbox: Sandbox, stream: EventStream, timeout: number | undefined): void {
  if (timeout === 0 && sandbox.settings.alternatives.zeroTimeout === 'ends_stream') stream.finish(TIMED_OUT);
}

function timeoutOf({ headers }: Exchange): number | undefined {
  const text = headers['connect-timeout-ms'];
  return typeof text === 'string' && /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

/** Milliseconds; `undefined`: what was asked for takes envd down. */
function keepaliveOf({ headers }: Exchange, { settings }: Sandbox): number | undefined {
  const text = headers['keepalive-ping-interval'];
  const seconds = typeof text === 'string' && /^-?\d{1,6}$/.test(text) ? Number(text) : KEEPALIVE_SECONDS;
  if (seconds > 0) return seconds * 1000;
  return settings.alternatives.zeroKeepalive === 'ignored' ? KEEPALIVE_SECONDS * 1000 : undefined;
}
