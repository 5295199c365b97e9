import type { SandboxCommand, SandboxHandle, SpawnRequest } from '#libs/contract';
import { checkArguments } from '../common/command-words.js';
import { withinDeadline } from '../common/deadline.js';
import { journalCommand } from '../common/journal-command.js';
import { formatSessionId } from '../common/session-id.js';
import type { StdinOwners } from '../common/stdin-owners.js';
import { socketTimeoutMs, type SpritesClient } from './sprites.client.js';
import { startCommand } from './sprites.start-command.js';
import { SessionStdin, attachStdin } from './sprites.stdin.js';
import { spawnTerminal } from './sprites.terminal.js';

/** Starts a command whose output comes as it is written. */
export async function spawnInSprite(
  client: SpritesClient,
  owners: StdinOwners,
  handle: SandboxHandle,
  request: SpawnRequest,
): Promise<SandboxCommand> {
  checkArguments(request);
  return withinDeadline(socketTimeoutMs(client), request.signal, async (deadline) => {
    if (request.tty) return spawnTerminal(client, handle, { ...request, tty: request.tty }, deadline);
    const { name } = handle;
    const spec = { ...request, once: false, stderrToStdout: false };
    const { nonce, process, stream, feed, taken } = await startCommand(client, name, spec, deadline);
    const sessionId = formatSessionId({ pid: process.pid, nonce });
    const owner = owners.take(`${name}/${sessionId}`);
    const stdin = new SessionStdin({
      process,
      taken,
      ended: stream.exit,
      owner,
      // Only a detachable one is still there when its connection is lost.
      ...(request.detachable && { attach: () => attachStdin(client, name, process.pid) }),
    });
    stream.exit.then(owner.release, owner.release);
    return journalCommand(handle, { stream, feed }, stdin, { sessionId, stdin: request.stdin });
  });
}
