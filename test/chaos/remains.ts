import { execFile } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Processes of sessions below `directory`, by the mark that each has in its environment.
 *
 * @param command what else is on its command line; every one without it
 */
export async function sessionProcesses(directory: string, command = ''): Promise<string[]> {
  const options = process.platform === 'darwin' ? ['-axwwE'] : ['axwwe'];
  const { stdout } = await run('ps', [...options, '-o', 'pid=,stat=,command='], { maxBuffer: 256 * 1024 * 1024 });
  return stdout
    .split('\n')
    .filter((line) => [command, 'SANDBOX_SESSION=', directory].every((text) => line.includes(text)))
    .map((line) => /^\s*(\d+)\s+(\S+)/.exec(line))
    .flatMap((match) => (match && !match[2]?.startsWith('Z') ? [`process ${match[1]}`] : []));
}

const TIME_WAIT = '06';

/** TCP sockets of the operating system that have one of `ports` at either end. Empty where it cannot be asked. */
export async function sockets(ports: readonly number[]): Promise<string[]> {
  const wanted = new Set(ports.map((port) => port.toString(16).toUpperCase().padStart(4, '0')));
  const found: string[] = [];
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const text = await readFile(table, 'utf8').catch(() => '');
    for (const line of text.split('\n').slice(1)) {
      const [, local = '', remote = '', state = ''] = line.trim().split(/\s+/);
      const isOurs = [local, remote].some((address) => wanted.has(address.split(':')[1] ?? ''));
      if (isOurs && state !== TIME_WAIT) found.push(`socket ${local} ${remote} in state ${state}`);
    }
  }
  return found;
}

/** What lies in a root beyond what a daemon without sandboxes has there; `stopped`: one that has ended. */
export async function leftInRoot(root: string, stopped: boolean): Promise<string[]> {
  const sandboxes = (await readdir(root)).filter((entry) => entry !== '.runner');
  const parts = stopped ? ['sessions', 'state', 'trash', 'tmp'] : ['sessions', 'state', 'trash'];
  const inside = await Promise.all(parts.map(async (part) => listed(root, join('.runner', part))));
  return [...sandboxes, ...inside.flat()].map((entry) => join(root, entry));
}

/** Everything directly in a directory; one that is not there is empty. */
export async function listed(directory: string, part = ''): Promise<string[]> {
  const entries = await readdir(join(directory, part)).catch(() => []);
  return entries.map((entry) => join(part, entry));
}
