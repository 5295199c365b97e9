import type { SandboxSession } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { asObject } from '../common/json.js';
import { findTag, formatSessionId, type SessionId } from '../common/session-id.js';
import { malformedReply } from './e2b.errors.js';
import { nothingMissing, type E2bMachine, type Reach } from './e2b.machine.js';

/** A live process as the service lists it. The variables that it lists too are not looked at. */
export interface LiveProcess {
  readonly pid: string;
  readonly command: string;
  /** Of a process of ours. */
  readonly tag: ReturnType<typeof findTag>;
  readonly tty: boolean;
}

/** All that were started through the service, whoever did. An ended one disappears once its end was delivered. */
export async function liveProcesses(
  machine: E2bMachine,
  deadline: Deadline,
  { wake = true }: Pick<Reach, 'wake'> = {},
): Promise<LiveProcess[]> {
  const { processes = [] } = await machine
    .call('process.Process/List', {}, deadline, { again: true, wake })
    .catch(nothingMissing(machine, 'the list of processes'));
  if (!Array.isArray(processes)) throw malformedReply('the list of processes');
  return processes.map((entry: unknown) => {
    const { pid, tag, config } = asObject(entry) ?? {};
    if (typeof pid !== 'number' || !Number.isSafeInteger(pid)) throw malformedReply('the list of processes');
    const { cmd, args } = asObject(config) ?? {};
    const words = [cmd, ...(Array.isArray(args) ? (args as unknown[]) : [])].filter((word) => typeof word === 'string');
    const command = words.join(' ');
    const found = findTag(command);
    const isOurs = found !== undefined && (typeof tag !== 'string' || findTag(tag)?.nonce === found.nonce);
    return { pid: String(pid), command, tag: isOurs ? found : undefined, tty: isOurs && cmd === 'sh' };
  });
}

/** Ours that are detachable, by their ids, and what others started, as it is. */
export function listedSessions(processes: readonly LiveProcess[]): SandboxSession[] {
  return processes.flatMap(({ pid, command, tag, tty }) => {
    if (tag === undefined) return [{ id: pid, command, tty }];
    if (tag.kind !== 'd') return [];
    return [{ id: formatSessionId({ pid, nonce: tag.nonce }), command: tag.rest ?? '', tty }];
  });
}

/** Whether the live process with the pid of a session is that session: the system gives pids again. */
export async function findSession(
  machine: E2bMachine,
  { pid, nonce }: SessionId,
  deadline: Deadline,
  reach?: Pick<Reach, 'wake'>,
): Promise<LiveProcess | undefined> {
  const processes = await liveProcesses(machine, deadline, reach);
  return processes.find((process) => process.pid === pid && process.tag?.nonce === nonce);
}
