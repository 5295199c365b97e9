import { SandboxError, type StreamOffsets } from '#libs/contract';
import type { Handled, RequestBody, RequestOp } from '#libs/protocol';
import { daemonExec } from './daemon-exec.js';
import type { DaemonFeeds } from './daemon-feeds.js';
import { noSession } from './fake-errors.js';
import { FAKE_HOME } from './fake-files.js';
import type { FakeMachine } from './fake-machine.js';
import { STOP_GRACE_MS } from './scripted-session.js';

/** What each request does; carried out in the order of the frames as far as it goes without waiting. */
export type DaemonRequests = {
  readonly [Op in RequestOp]: (body: RequestBody<Op>, requestId: number) => Handled | Promise<Handled>;
};

export interface DaemonRequestsContext {
  readonly machine: FakeMachine;
  readonly feeds: DaemonFeeds;
  /** Whether the daemon says offsets and knows what was added to version 1. */
  readonly native: boolean;
  /** Aborted when the socket has gone. */
  readonly signal: AbortSignal;
}

const BEGINNING: StreamOffsets = Object.freeze({ stdout: 0, stderr: 0 });
const DONE: Handled = { result: {} };

export function daemonRequests({ machine, feeds, native, signal }: DaemonRequestsContext): DaemonRequests {
  /** The ends of the execs under way, by their requests. */
  const execs = new Map<number, () => void>();
  return {
    create({ name }) {
      machine.create(name);
      return DONE;
    },
    get({ name }) {
      const { status } = machine.get(name);
      return { result: { status, path: FAKE_HOME } };
    },
    async destroy({ name }) {
      const sessions = machine.find(name)?.sessions ?? [];
      await machine.destroy(name);
      await feeds.finished(sessions);
      return DONE;
    },
    list() {
      return { result: { names: machine.names } };
    },
    async suspend({ name }) {
      const sandbox = machine.get(name);
      const running = sandbox.sessions.filter(({ end }) => end === undefined);
      await sandbox.suspend();
      if (machine.onSuspend === 'stop') await feeds.finished(running);
      return DONE;
    },
    resume({ name }) {
      machine.get(name).resume();
      return DONE;
    },
    write_file({ name, path, data, mode }) {
      const sandbox = machine.get(name);
      sandbox.files.write(path, data, mode);
      sandbox.resume();
      return DONE;
    },
    async exec(body, requestId) {
      const ended = new AbortController();
      const end = (): void => ended.abort();
      signal.addEventListener('abort', end);
      execs.set(requestId, end);
      try {
        return { result: await daemonExec(machine.get(body.name), body, { native, signal: ended.signal }) };
      } finally {
        execs.delete(requestId);
        signal.removeEventListener('abort', end);
      }
    },
    cancel({ request }) {
      if (!native) throw new SandboxError('not_supported', { message: 'this daemon does not know cancel' });
      execs.get(request)?.();
      return DONE;
    },
    spawn(body, requestId) {
      if (body.tty) throw new SandboxError('not_supported', { message: 'this daemon has no terminals' });
      const { name, cmd, args, env, dir, stdin = false, detachable = false } = body;
      const { stderrToStdout, timeoutMs, maxOutputBytes } = body;
      const added = native ? { stderrToStdout, timeoutMs: timeoutMs || undefined, maxOutputBytes } : {};
      const session = machine.get(name).spawn({ cmd, args, env, dir, stdin, detachable, ...added });
      feeds.expect(session);
      const afterReply = (): void => (native ? feeds.start(session) : feeds.replay(session, requestId, BEGINNING));
      return { result: { sessionId: session.id }, afterReply };
    },
    async stdin({ name, sessionId, data }) {
      await machine.get(name).session(sessionId).write(data);
      return DONE;
    },
    async stdin_close({ name, sessionId }) {
      await machine.get(name).session(sessionId).stdin.close();
      return DONE;
    },
    detach({ name, sessionId, hold = false }) {
      const session = name === undefined ? machine.findSession(sessionId) : machine.get(name).session(sessionId);
      if (session === undefined) throw noSession(sessionId);
      feeds.detach(session, native && hold);
      if (!session.detachable && !hold && session.output.readers === 0) void session.stop(STOP_GRACE_MS);
      return DONE;
    },
    list_sessions({ name }) {
      const sandbox = machine.get(name);
      const sessions = sandbox.running().map(({ id, command, createdAtMs, lastActivityAtMs }) => ({
        id,
        command,
        createdAt: sandbox.date(createdAtMs).toISOString(),
        lastActivityAt: sandbox.date(lastActivityAtMs).toISOString(),
        tty: false,
      }));
      return { result: { sessions } };
    },
    attach({ name, sessionId, from = BEGINNING }, requestId) {
      const session = machine.get(name).session(sessionId);
      const begin = session.output.checkFrom(native ? from : BEGINNING);
      const afterReply = (): void => feeds.replay(session, requestId, begin);
      return { result: { sessionId, ...(native && { from: begin }) }, afterReply };
    },
  };
}
