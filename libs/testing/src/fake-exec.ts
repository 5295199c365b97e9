import { collectExec, type ExecRequest, type ExecResult, type SandboxCommand } from '#libs/contract';
import { LIMIT_GRACE_MS, type ScriptedSession } from './scripted-session.js';

/** Runs a command to its end. The deadline is the session's: its clock may stand still. */
export function fakeExec(
  session: ScriptedSession,
  command: SandboxCommand,
  { maxOutputBytes, stderrToStdout, stdin, signal }: ExecRequest,
): Promise<ExecResult> {
  return collectExec(command, {
    maxOutputBytes,
    stderrToStdout,
    ...(stdin !== undefined && { stdin }),
    ...(signal !== undefined && { signal }),
    stop: async () => {
      await session.stop(LIMIT_GRACE_MS);
      return { confirmed: !isLost(session) };
    },
  });
}

/** Whether nobody knows how it ended, so that nobody can say that it is gone. */
export function isLost({ end }: ScriptedSession): boolean {
  return end !== undefined && 'lost' in end;
}
