import type { Answer } from '../kit/answer.js';
import type { Channel } from '../kit/channel.js';
import { Merger, readLog } from './log-reader.js';
import { logAnswer, logFormatOf } from './log-format.js';
import type { SessionCommand } from './session-command.js';
import { goneOf, type ToolboxCall, type ToolboxRoutes, type ToolboxUpgrade } from './toolbox-routes.js';

/** Bytes of a frame of a log socket, at most. */
const FRAME_BYTES = 1024;
/** Bytes that may wait for a client before the log is read on. */
const FULL = 256 * 1024;
const LOGS = '/process/session/:session/command/:command/logs';

export function addLogRoutes(routes: ToolboxRoutes): void {
  routes.add('GET', LOGS, getLogs);
  // Its container runs nothing but the daemon.
  routes.add('GET', '/process/session/entrypoint/logs', async ({ sandbox, exchange }) => {
    const answer = logAnswer(Buffer.alloc(0), logFormatOf(exchange.headers, sandbox.settings.alternatives));
    return 'raw' in answer ? { status: 200, text: '' } : answer;
  });
  routes.addUpgrade(LOGS, followLogs);
}

async function getLogs({ sandbox, exchange, signal }: ToolboxCall): Promise<Answer | void> {
  const { session, command: id } = exchange.params;
  const command = sandbox.sessions.command(session!, id!);
  const { alternatives, logQuietMs } = sandbox.settings;
  if (exchange.query.get('follow') === 'true' && alternatives.logFollowOverHttp === 'merged_stream') {
    await exchange.begin(200, { 'content-type': 'application/octet-stream' });
    const gone = AbortSignal.any([signal, sandbox.sessions.get(session!).gone, goneOf(exchange)]);
    const merger = new Merger();
    const how = { follow: true, chunkBytes: 64 * 1024, quietMs: logQuietMs, signal: gone };
    try {
      for await (const chunk of readLog(command, how)) await exchange.write(merger.push(chunk));
      await exchange.write(merger.end());
    } catch (error) {
      // A deleted session, like a client that went away, is an end as good as another.
      if (signal.aborted || !gone.aborted) throw error;
    }
    return await exchange.end();
  }
  const answer = logAnswer(await command.log(), logFormatOf(exchange.headers, alternatives));
  if (!('raw' in answer)) return answer;
  return await exchange.send(200, { 'content-type': 'text/plain' }, answer.raw);
}

/** Binary frames from the first byte on. It never closes by itself while there is no exit code. */
async function followLogs({ sandbox, upgrade, signal }: ToolboxUpgrade): Promise<void> {
  const { session: sessionId, command: id } = upgrade.params;
  const session = sandbox.sessions.get(sessionId!);
  const command = sandbox.sessions.command(sessionId!, id!);
  const { alternatives, logQuietMs, logPrefixBytes } = sandbox.settings;
  const format = logFormatOf(upgrade.headers, alternatives);
  const follow = upgrade.query.get('follow') === 'true';
  const channel = await upgrade.accept();
  channel.onMessage(() => {});
  const gone = new AbortController();
  void channel.whenClosed.then(() => gone.abort());
  const ended = AbortSignal.any([signal, session.gone, gone.signal]);
  try {
    const how = { follow, chunkBytes: FRAME_BYTES, quietMs: logQuietMs, signal: ended };
    const prefix = alternatives.logSocket === 'prefix' ? logPrefixBytes : Infinity;
    await sendLog(channel, command, how, format === 'merged' ? new Merger() : undefined, prefix);
    await channel.close(1000);
  } catch {
    if (signal.aborted) channel.terminate();
    else await channel.close(1000);
  }
}

async function sendLog(
  channel: Channel,
  command: SessionCommand,
  how: Parameters<typeof readLog>[1],
  merger: Merger | undefined,
  prefix: number,
): Promise<void> {
  let left = prefix;
  const send = async (data: Buffer) => {
    const frame = data.subarray(0, left);
    left -= frame.length;
    if (frame.length > 0) await channel.send(frame);
    await channel.room(FULL);
  };
  for await (const chunk of readLog(command, how)) {
    await send(merger ? merger.push(chunk) : chunk);
    if (channel.closed || left === 0) return;
  }
  if (merger) await send(merger.end());
}
