import { SandboxError } from '#libs/contract/core';
import type { SessionKeeper } from '#libs/process';
import { PROTOCOL_LIMITS } from '#libs/protocol';
import type { Feeds } from './feeds.js';
import type { Handlers } from './handlers.js';
import { BEGINNING } from './session-feed.js';
import type { Sessions } from './sessions.js';

type SessionOps = 'spawn' | 'stdin' | 'stdin_close' | 'detach' | 'list_sessions' | 'attach';

export interface SessionRequestsContext {
  readonly keeper: SessionKeeper;
  readonly feeds: Feeds;
  readonly sessions: Sessions;
  /** Aborted when the link is lost. */
  readonly signal: AbortSignal;
}

const DONE = { result: {} };

/**
 * Requests about sessions. Version 1 does not say who writes: everything that comes over the socket to a session's
 * stdin is written in its order, and the platform sees to it that one subscriber owns it.
 */
export function sessionRequests(context: SessionRequestsContext): Pick<Handlers, SessionOps> {
  const { keeper, feeds, sessions, signal } = context;
  return {
    async spawn(body) {
      if (body.tty) throw new SandboxError('not_supported', { message: 'this daemon has no terminals' });
      const {
        name,
        cmd,
        args,
        env = [],
        dir,
        stdin,
        stderrToStdout,
        detachable = false,
        timeoutMs,
        maxOutputBytes,
      } = body;
      const { id } = await keeper.start({
        sandbox: name,
        cmd,
        args,
        env,
        ...(dir !== undefined && { dir }),
        ...(stdin !== undefined && { stdin }),
        ...(stderrToStdout !== undefined && { stderrToStdout }),
        detachable,
        ...(timeoutMs && { timeoutMs }),
        ...(maxOutputBytes !== undefined && { maxOutputBytes }),
      });
      sessions.add({ sandbox: name, id, detachable }, !signal.aborted);
      const attachment = await feeds.open(name, id).catch((cause: unknown) => {
        throw new SandboxError('unavailable', { detail: 'session_lost', effect: 'unknown', cause });
      });
      return { result: { sessionId: id }, afterReply: () => attachment.start() };
    },
    async stdin({ name, sessionId, data }) {
      // What a process does not read waits in memory.
      if (data.length > PROTOCOL_LIMITS.stdinBytes) throw new SandboxError('invalid', { detail: 'request_too_large' });
      await keeper.write(name, sessionId, 'next', data);
      return DONE;
    },
    async stdin_close({ name, sessionId }) {
      await keeper.closeStdin(name, sessionId);
      return DONE;
    },
    async detach({ name, sessionId, hold = false }) {
      const sandbox = name ?? feeds.sandboxOf(sessionId) ?? sessions.sandboxOf(sessionId);
      if (sandbox === undefined) throw new SandboxError('not_found', { message: 'no such session' });
      await feeds.detach(sandbox, sessionId, hold);
      if (!hold) sessions.detached(sandbox, sessionId);
      return DONE;
    },
    async list_sessions({ name }) {
      return { result: { sessions: await keeper.list(name) } };
    },
    async attach({ name, sessionId, from = BEGINNING }, requestId) {
      const attachment = await feeds.attach(name, sessionId, requestId, from);
      const afterReply = (): void => {
        sessions.attached(name, sessionId);
        attachment.start();
      };
      return { result: { sessionId, from: attachment.from }, afterReply };
    },
  };
}
