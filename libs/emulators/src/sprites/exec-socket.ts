import { setImmediate as immediate } from 'node:timers/promises';
import type { Exit } from '#libs/contract/core';
import type { Channel, Incoming } from '../kit/channel.js';
import type { OutputStream } from '../kit/emulated-process.js';
import { pause } from '../kit/pause.js';
import type { Upgrade } from '../kit/upgrade.js';
import { FRAME } from './exec-frames.js';
import { execRequestOf } from './exec-request.js';
import type { Fleet } from './fleet.js';
import { noSuchSession, refusal } from './refusals.js';
import type { Session } from './session.js';
import { signalOf } from './signals.js';
import { withoutControlSequences } from './control-sequences.js';
import { SocketClient } from './socket-client.js';
import type { Sprite } from './sprite.js';
import { enterVm, VM_HEADERS } from './vm.js';

/** Bytes of stdin that may wait for the process before its client has to. */
const STDIN_FULL = 1024 * 1024;

/** `/exec`: starts a command, or with `id` attaches to one. The process starts before the handshake is complete. */
export async function execSocket(fleet: Fleet, upgrade: Upgrade): Promise<void> {
  const id = upgrade.query.get('id');
  if (id !== null) return await attach(fleet, upgrade, id);
  const { sprite, leave } = await enterVm(fleet, upgrade, true);
  try {
    const started = await sprite.sessions.start(execRequestOf(upgrade.query, sprite.settings));
    if ('failed' in started) await tellFailure(sprite, upgrade, started.failed);
    else await serve(sprite, upgrade, started);
  } finally {
    leave();
  }
}

/** `/exec/{id}` */
export async function attachSocket(fleet: Fleet, upgrade: Upgrade): Promise<void> {
  if (!fleet.settings.alternatives.attachByPath) throw refusal(404, 'not found');
  await attach(fleet, upgrade, upgrade.params['id']!);
}

async function attach(fleet: Fleet, upgrade: Upgrade, id: string): Promise<void> {
  const { sprite, leave } = await enterVm(fleet, upgrade, true);
  try {
    const session = sprite.sessions.find(id);
    if (!session) throw noSuchSession(id);
    await serve(sprite, upgrade, session, upgrade.query.get('stdin') !== 'false');
  } finally {
    leave();
  }
}

async function serve(sprite: Sprite, upgrade: Upgrade, session: Session, stdin = true): Promise<void> {
  const channel = await accept(sprite, upgrade).catch((error: unknown) => {
    session.detach();
    throw error;
  });
  const { tty } = session.request;
  const client = new SocketClient(channel, tty, sprite.settings, sprite.timers);
  introduce(client, session, sprite);
  const input = new Input(session, channel, sprite, stdin);
  channel.onMessage((message) => input.take(message));
  const { replayedStderr, terminalReplay } = sprite.settings.alternatives;
  session.attach(client, (stream: OutputStream, data) => {
    if (!tty) client.output(replayedStderr === 'stdout' ? 'stdout' : stream, data);
    else if (terminalReplay === 'raw') client.output(stream, data);
    else client.output(stream, withoutControlSequences(data));
  });
  await sprite.sessions.serve(client, channel.whenClosed);
  session.detach(client);
}

async function accept(sprite: Sprite, upgrade: Upgrade): Promise<Channel> {
  const { attachDelayMs, alternatives } = sprite.settings;
  await pause(attachDelayMs, upgrade.closing);
  // What was printed until now is read first, however long that was.
  if (attachDelayMs > 0) await immediate();
  return await upgrade.accept({
    'Sprite-Version': VM_HEADERS['sprite-version'],
    ...(alternatives.signalCapability && { 'X-Sprite-Capabilities': 'signal' }),
  });
}

function introduce(client: SocketClient, session: Session, { settings }: Sprite): void {
  const { debugFrame, sessionId, sessionCreated, sessionSize } = settings.alternatives;
  const { tty, cols, rows } = session.request;
  const pid = session.process.pid;
  if (debugFrame) client.text({ type: 'debug', msg: `session_created: ${pid}`, pid });
  const size = tty && sessionSize === 'real' ? { cols, rows } : { cols: 0, rows: 0 };
  const created = session.created;
  client.text({
    type: 'session_info',
    session_id: sessionId === 'string' ? session.id : pid,
    command: session.command,
    created: sessionCreated === 'unix' ? Math.floor(created.getTime() / 1000) : created.toISOString(),
    ...size,
    is_owner: tty,
    tty,
  });
}

/** A command that could not be started. */
async function tellFailure(sprite: Sprite, upgrade: Upgrade, exit: Exit): Promise<void> {
  const error = exit.startError ?? 'the command could not be started';
  if (sprite.settings.alternatives.startFailure === 'http_400') throw refusal(400, error);
  const channel = await accept(sprite, upgrade);
  const client = new SocketClient(channel, upgrade.query.get('tty') === 'true', sprite.settings, sprite.timers);
  client.text({ type: 'error', error });
  client.ended(exit);
  await sprite.sessions.serve(client, channel.whenClosed);
}

/** What a client sends. */
class Input {
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();
  #held = false;

  constructor(
    private readonly session: Session,
    private readonly channel: Channel,
    private readonly sprite: Sprite,
    private readonly stdin: boolean,
  ) {}

  take({ data, binary }: Incoming): void {
    if (!binary) return this.#text(data.toString());
    if (this.session.request.tty) return this.#write(data);
    if (data[0] === FRAME.stdin) this.#write(data.subarray(1));
    else if (data[0] === FRAME.stdinEof && this.stdin) void this.#last.then(() => this.session.process.closeStdin());
    return undefined;
  }

  #write(data: Buffer): void {
    if (!this.stdin) return;
    this.sprite.power.touch();
    this.#waiting += data.length;
    this.#last = this.session.process.write(data).finally(() => (this.#waiting -= data.length));
    if (this.#waiting <= STDIN_FULL || this.#held) return;
    this.#held = true;
    void this.channel.hold(this.#last).then(() => (this.#held = false));
  }

  /** Text that is not understood is ignored. */
  #text(text: string): void {
    const { type, cols, rows, signal } = messageOf(text);
    if (type === 'resize' && typeof cols === 'number' && typeof rows === 'number') {
      this.session.process.resize(cols, rows);
    } else if (type === 'signal' && this.sprite.settings.alternatives.signalCapability) {
      const name = signalOf(String(signal));
      if (name) this.session.process.signal(name);
    }
  }
}

function messageOf(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}
