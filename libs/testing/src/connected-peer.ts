import {
  RunnerConnection,
  type ProtocolLimits,
  type RunnerLink,
  type RunnerRegistry,
  type SessionSink,
} from '#libs/protocol';
import { ManualClock } from './manual-clock.js';
import { ScriptedPeer } from './scripted-peer.js';

/** The runner that {@link connectPeer} connects. */
export const RUNNER_ID = '00000000-0000-4000-8000-000000000001';

/** Room for one connection per runner; says what was called, in order. */
export class RecordingRegistry implements RunnerRegistry {
  readonly calls: string[] = [];
  readonly links = new Map<string, RunnerLink>();
  /** Called first, with the name of the method; what it throws or returns late is the registry's answer. */
  before: (call: string, link?: RunnerLink) => Promise<void> | void = () => {};

  async register(id: string, link: RunnerLink): Promise<'ok' | 'already_registered'> {
    await this.note('register', link);
    if (this.links.has(id)) return 'already_registered';
    this.links.set(id, link);
    return 'ok';
  }

  async unregister(id: string, link: RunnerLink): Promise<boolean> {
    await this.note('unregister', link);
    return this.links.get(id) === link && this.links.delete(id);
  }

  async whereis(id: string): Promise<RunnerLink | undefined> {
    await this.note('whereis');
    return this.links.get(id);
  }

  async online(): Promise<readonly (readonly [string, unknown])[]> {
    return [];
  }

  async heartbeat(_id: string, link: RunnerLink): Promise<void> {
    await this.note('heartbeat', link);
  }

  async presence(_id: string, state: 'online' | 'offline'): Promise<void> {
    await this.note(state);
  }

  private async note(call: string, link?: RunnerLink): Promise<void> {
    this.calls.push(call);
    await this.before(call, link);
  }
}

/** What the connection of {@link connectPeer} is given. */
export interface PeerOptions {
  /** Absent: a daemon of another make. */
  readonly instance?: string;
  readonly limits?: Partial<ProtocolLimits>;
  readonly clock?: ManualClock;
  readonly registry?: RecordingRegistry;
  readonly onRegistered?: () => void;
}

/** The platform's end of a connection, whose peer, clock and registry are the test's; not yet started. */
export function connectPeer({
  clock = new ManualClock(),
  registry = new RecordingRegistry(),
  ...more
}: PeerOptions = {}) {
  const peer = new ScriptedPeer();
  const log: string[] = [];
  const connection = new RunnerConnection(peer, {
    runnerId: RUNNER_ID,
    name: 'box',
    meta: { owner: 1 },
    registry,
    clock,
    log: (line) => log.push(line),
    ...more,
  });
  peer.listener = connection;
  return { clock, peer, registry, connection, log };
}

/** A sink and what it was given. */
export interface RecordingSink extends SessionSink {
  /** `[stream, offset, text]`, `['exit', code]` or `[code, detail]`. */
  readonly seen: unknown[];
}

/** A sink that keeps what it is given. */
export function recordingSink(): RecordingSink {
  const seen: unknown[] = [];
  return {
    seen,
    frame: (frame) =>
      seen.push(
        frame.type === 'exit'
          ? ['exit', frame.exitCode]
          : [frame.type, frame.offset, Buffer.from(frame.data).toString('latin1')],
      ),
    error: (error) => seen.push([error.code, error.detail]),
  };
}

/** Gives promises a turn. */
export async function turns(count = 3): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
}
