import type { OutputFrame, StreamOffsets } from '#libs/contract';
import type { DaemonConnection, SessionExit, SessionSink } from '#libs/protocol';
import type { ScriptedSession } from './scripted-session.js';
import type { SessionReader } from './session-reader.js';

const BEGINNING: StreamOffsets = Object.freeze({ stdout: 0, stderr: 0 });

/** The sessions that are attached on one socket: each is sent over it once, live, and replayed as often as asked. */
export class DaemonFeeds {
  readonly #connection: DaemonConnection;
  readonly #saysOffsets: boolean;
  /** Nobody reads them at the moment, and somebody will. */
  readonly #held = new Set<ScriptedSession>();
  readonly #live = new Map<ScriptedSession, SessionReader>();

  constructor(connection: DaemonConnection, saysOffsets: boolean) {
    this.#connection = connection;
    this.#saysOffsets = saysOffsets;
  }

  /** Nothing of a session that is about to be attached is given up. */
  expect(session: ScriptedSession): void {
    this.#hold(session, true);
  }

  /** Live output from the beginning of the session. */
  start(session: ScriptedSession): void {
    this.#hold(session, false);
    this.#follow(session, BEGINNING);
  }

  /** What is there from `from` on, tagged, in this turn; live output goes on behind it. */
  replay(session: ScriptedSession, requestId: number, from: StreamOffsets): void {
    this.#hold(session, false);
    const live = this.#live.get(session);
    const until = live?.position ?? session.output.journal.next;
    for (const frame of session.output.replay(from, until)) this.#output(session, frame, requestId);
    if (live === undefined && session.end === undefined) this.#follow(session, 'now');
    else if (live === undefined && session.end !== undefined) this.#end(session, requestId);
  }

  /** @param hold whoever read it will come back for the rest */
  detach(session: ScriptedSession, hold: boolean): void {
    this.#hold(session, hold);
    this.#live.get(session)?.leave();
    this.#live.delete(session);
  }

  /** Resolves when the ends of these sessions have been sent. */
  async finished(sessions: readonly ScriptedSession[]): Promise<void> {
    await Promise.all(sessions.map(async (session) => await this.#live.get(session)?.done));
  }

  /** The socket has gone. */
  close(): void {
    for (const reader of this.#live.values()) reader.leave();
    this.#live.clear();
    for (const session of this.#held) session.output.hold(false);
    this.#held.clear();
  }

  #hold(session: ScriptedSession, held: boolean): void {
    session.output.hold(held);
    if (held) this.#held.add(session);
    else this.#held.delete(session);
  }

  #follow(session: ScriptedSession, from: StreamOffsets | 'now'): void {
    const reader = session.output.attach(
      this.#sink(session, () => this.#live.get(session)),
      from,
    );
    if (reader.over) return;
    this.#live.set(session, reader);
    // What was delivered before there was a reader to give its room back to.
    this.#release(reader, reader.untakenBytes);
  }

  #sink(session: ScriptedSession, reader: () => SessionReader | undefined): SessionSink {
    const ended = (): void => {
      this.#live.delete(session);
      this.#end(session);
    };
    return {
      frame: (frame) => {
        if (frame.type === 'exit') return ended();
        this.#output(session, frame);
        const live = reader();
        if (live) this.#release(live, frame.data.byteLength);
      },
      error: ended,
    };
  }

  /** The command may write on while the socket takes more. */
  #release(reader: SessionReader, bytes: number): void {
    this.#connection.whenWritable(() => reader.taken(bytes));
  }

  #output({ id: sessionId }: ScriptedSession, { type, data, offset }: OutputFrame, replayFor?: number): void {
    this.#connection.event(type, {
      sessionId,
      data,
      ...(this.#saysOffsets && { offset }),
      ...(replayFor !== undefined && { replayFor }),
    });
  }

  #end({ id: sessionId, end }: ScriptedSession, replayFor?: number): void {
    if (end === undefined) return;
    const about = { sessionId, ...(replayFor !== undefined && { replayFor }) };
    if ('lost' in end) {
      return this.#connection.event('error', { ...about, error: 'unavailable', detail: 'closed_before_exit' });
    }
    const { exitCode: code, signal, startError, stoppedBy, gone }: SessionExit = end.exit;
    const more = { signal, startError, stoppedBy, gone };
    this.#connection.event('exit', { ...about, code, ...(this.#saysOffsets && more) });
  }
}
