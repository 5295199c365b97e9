import type { SandboxSession } from '#libs/contract';
import type { ResultOf } from '#libs/protocol';

/** The running sessions of a daemon's list; some daemons also list those that have ended. */
export function runningSessions({ sessions }: ResultOf<'list_sessions'>): SandboxSession[] {
  return sessions
    .filter(({ exitCode }) => exitCode === undefined)
    .map(({ id, command, createdAt, lastActivityAt, tty }) => ({
      id,
      command,
      createdAt: dateOf(createdAt),
      lastActivityAt: dateOf(lastActivityAt),
      tty: tty ?? false,
    }));
}

function dateOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
