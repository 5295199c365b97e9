import type { SandboxSession } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { foreignSession } from '../common/journal-errors.js';
import { bodyOf } from '../common/failed-answer.js';
import { asObject, type JsonObject } from '../common/json.js';
import { formatSessionId } from '../common/session-id.js';
import type { InSandbox } from './daytona.context.js';
import { malformedReply, toolboxError } from './daytona.errors.js';
import { runErrand, type Errand } from './daytona.execute.js';
import { listProgram } from './daytona.programs.js';

/** What our own sessions and terminals at the service begin with. */
export const OWN_PREFIX = 'nestjs-sandbox-';

const LINE = /^@s ([0-9]{1,20}) ([0-9a-f]{32}) ([01]) ([0-9]{1,12}) ?((?:[0-9a-f]{2})*)$/;

/** Ours that are detachable, by their journals, and what others run, as the service lists it. */
export async function listSessions(context: InSandbox, deadline: Deadline): Promise<SandboxSession[]> {
  const errand: Errand = { purpose: 'list', program: listProgram(), again: true };
  const text = (await runErrand(context.toolboxes, context.handle, errand, deadline)) ?? '';
  const own = text.split('\n').filter(Boolean).map(ownSession);
  return [...own, ...(await foreignSessions(context, deadline))];
}

/**
 * Of an id that is none of ours: that no session and no terminal of the service has it, whether a command runs there or
 * not.
 *
 * @throws {SandboxError} `not_supported`: one has
 */
export async function checkForeign(
  { toolboxes, handle }: InSandbox,
  sessionId: string,
  deadline: Deadline,
): Promise<void> {
  for (const kind of ['session', 'pty']) {
    const request = { method: 'GET', path: `/process/${kind}/${sessionId}`, deadline } as const;
    const answer = await toolboxes.call(handle, request, { again: true, wake: false });
    if (answer === undefined) return;
    if (answer.ok && bodyOf(answer)) throw foreignSession();
    if (answer.ok) throw malformedReply('the session');
    // The daemon says so itself, in JSON; a gateway knows nothing of sessions.
    if (answer.status !== 404 || !bodyOf(answer)) throw toolboxError(answer);
  }
}

function ownSession(line: string): SandboxSession {
  const [, pid, nonce, tty, since, title = ''] = LINE.exec(line) ?? [];
  if (pid === undefined || nonce === undefined) throw malformedReply('the list of sessions');
  return {
    id: formatSessionId({ pid, nonce }),
    command: Buffer.from(title, 'hex').toString('utf8'),
    createdAt: since === '0' ? undefined : new Date(Number(since) * 1000),
    lastActivityAt: undefined,
    tty: tty === '1',
  };
}

/** Sessions of the service in which a command runs. */
async function foreignSessions({ toolboxes, handle }: InSandbox, deadline: Deadline): Promise<SandboxSession[]> {
  const answer = await toolboxes.call(handle, { method: 'GET', path: '/process/session', deadline }, { again: true });
  if (answer === undefined) return [];
  if (!answer.ok) throw toolboxError(answer);
  const body = answer.json();
  if (!Array.isArray(body)) throw malformedReply('the list of sessions');
  return body.flatMap((entry: unknown) => {
    const { sessionId, commands } = asObject(entry) ?? {};
    if (typeof sessionId !== 'string') throw malformedReply('the list of sessions');
    if (sessionId.startsWith(OWN_PREFIX) || !Array.isArray(commands)) return [];
    const running = commands.map((command: unknown) => asObject(command) ?? {}).find(isRunning);
    if (running === undefined) return [];
    const { command } = running;
    return [
      {
        id: sessionId,
        command: typeof command === 'string' ? command : '',
        createdAt: undefined,
        lastActivityAt: undefined,
        tty: false,
      },
    ];
  });
}

function isRunning({ exitCode }: JsonObject): boolean {
  return exitCode === undefined || exitCode === null;
}
