import type { Readable, Writable } from 'node:stream';
import type { Exit, SandboxCommand } from 'nestjs-sandbox';

/** Nobody reads our stdout any more. */
export class StdoutClosedError extends Error {
  override readonly name = 'StdoutClosedError';
}

export interface Pipes {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/**
 * Passes a command's output and our input through, each no faster than it is taken, until the command has ended and
 * everything was written.
 *
 * @throws {StdoutClosedError} as soon as stdout is found closed; a closed stderr is ignored
 */
export async function pipeCommand(command: SandboxCommand, { stdin, stdout, stderr }: Pipes): Promise<Exit> {
  const ignore = (): void => {};
  stdout.on('error', ignore);
  stderr.on('error', ignore);
  const input = feed(stdin, command);
  try {
    return await command.forEach(async ({ type, data }) => {
      if (type === 'stderr') return write(stderr, data).catch(ignore);
      return write(stdout, data).catch((error: unknown) => {
        throw new StdoutClosedError('stdout is closed', { cause: error });
      });
    });
  } finally {
    // A terminal or an idle pipe would keep the process alive.
    stdin.destroy();
    await input;
  }
}

/** Never rejects: that a command does not read its input is its own affair, as in a shell. */
async function feed(stdin: Readable, command: SandboxCommand): Promise<void> {
  try {
    for await (const chunk of stdin) await command.writeStdin(chunk as Uint8Array);
  } catch {
    // exited, closed its stdin, detached, or our stdin was not readable
  }
  await command.closeStdin().catch(() => {});
}

function write(stream: Writable, data: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => (error ? reject(error) : resolve()));
  });
}
