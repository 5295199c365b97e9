import { pause } from '../kit/pause.js';
import type { Exchange } from '../kit/exchange.js';
import type { Fleet } from './fleet.js';
import { parseGoDuration } from './go-duration.js';
import { NdjsonAnswer } from './ndjson-answer.js';
import { noSuchSession, refusal } from './refusals.js';
import type { Session } from './session.js';
import { signalOf } from './signals.js';
import { enterVm } from './vm.js';

interface KillRequest {
  readonly signal: NodeJS.Signals;
  readonly graceMs: number;
}

/** `POST /exec/{id}/kill`: signals the group of a session and tells, line by line, what came of it. */
export async function killSession(fleet: Fleet, exchange: Exchange): Promise<void> {
  const { sprite, leave } = await enterVm(fleet, exchange);
  try {
    const id = exchange.params['id']!;
    const { killAfterExit, killBody } = sprite.settings.alternatives;
    const body = await exchange.json();
    const request = killRequestOf(exchange.query, killBody === 'heeded' ? body : undefined);
    const session = sprite.sessions.find(id);
    if (!session) {
      const gone = sprite.sessions.hasEnded(id) && killAfterExit === 410;
      throw gone ? refusal(410, 'session already exited') : noSuchSession(id);
    }
    const answer = new NdjsonAnswer(exchange, sprite.settings.killLineDelayMs);
    await answer.begin();
    await kill(session, request, answer, exchange.closing);
    await exchange.end();
  } finally {
    leave();
  }
}

async function kill(
  session: Session,
  { signal, graceMs }: KillRequest,
  answer: NdjsonAnswer,
  closing: AbortSignal,
): Promise<void> {
  const { process, request, settings } = session;
  const { pid } = process;
  process.signal(signal);
  await answer.line({ type: 'signal', message: `sent ${signal} to process group ${pid}`, signal, pid });
  if (graceMs === 0) return await answer.line({ type: 'complete', exit_code: process.exit?.exitCode ?? 0 });
  const exited = await ended(process.leaderExit, graceMs, closing);
  if (exited) await answer.line({ type: 'exited', message: `process ${pid} exited` });
  else {
    await answer.line({ type: 'timeout', message: `process ${pid} is still there, sending SIGKILL` });
    process.signal('SIGKILL');
    await process.leaderExit;
    await answer.line({ type: 'killed', message: `process ${pid} killed` });
  }
  if (request.tty) await answer.line({ type: 'signal', message: 'closing PTY master', signal: 'SIGHUP', pid });
  const zero = exited && settings.alternatives.killExitCode === 'zero';
  return await answer.line({ type: 'complete', exit_code: zero ? 0 : process.exit!.exitCode });
}

async function ended(exit: Promise<void>, withinMs: number, closing: AbortSignal): Promise<boolean> {
  const stop = new AbortController();
  const waited = pause(withinMs, AbortSignal.any([closing, stop.signal])).then(
    () => false,
    () => false,
  );
  const exited = exit.then(() => true);
  return await Promise.race([exited, waited]).finally(() => stop.abort());
}

/** @throws {Refusal} 400 */
function killRequestOf(query: URLSearchParams, body: unknown): KillRequest {
  const heeded = Object(body) as { readonly signal?: unknown; readonly timeout?: unknown };
  const name = query.get('signal') ?? (typeof heeded.signal === 'string' ? heeded.signal : 'SIGTERM');
  const timeout = query.get('timeout') ?? (typeof heeded.timeout === 'string' ? heeded.timeout : '10s');
  const signal = signalOf(name);
  if (!signal) throw refusal(400, `unknown signal: ${name}`);
  const graceMs = parseGoDuration(timeout);
  if (graceMs === undefined) throw refusal(400, `invalid timeout: ${timeout}`);
  return { signal, graceMs };
}
