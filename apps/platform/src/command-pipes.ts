import type { Readable, Writable } from 'node:stream';
import { SandboxError, type Exit, type SandboxCommand } from 'nestjs-sandbox';

/** Nobody reads our stdout any more. */
export class StdoutClosedError extends Error {
  override readonly name = 'StdoutClosedError';
}

/** What a stream reports whose other end was closed, or that we closed ourselves. */
const CLOSED = new Set(['EPIPE', 'ECONNRESET', 'ERR_STREAM_DESTROYED']);

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
 * @throws {Error} when stdin cannot be read to its end or stdout cannot be written: neither may look complete
 */
export async function pipeCommand(command: SandboxCommand, { stdin, stdout, stderr }: Pipes): Promise<Exit> {
  const ignore = (): void => {};
  stdout.on('error', ignore);
  stderr.on('error', ignore);
  const input = feed(stdin, command);
  const output = command.forEach(async ({ type, data }) => {
    if (type === 'stderr') return write(stderr, data).catch(ignore);
    return write(stdout, data).catch((error: NodeJS.ErrnoException) => {
      if (CLOSED.has(error.code ?? '')) throw new StdoutClosedError('stdout is closed', { cause: error });
      throw failure('stdout could not be written', error);
    });
  });
  try {
    return await Promise.race([output, input.then(() => output)]);
  } finally {
    // A terminal or an idle pipe would keep the process alive.
    stdin.destroy();
    await input.catch(ignore);
  }
}

function failure(what: string, error: NodeJS.ErrnoException): Error {
  return new Error(`${what}: ${error.code ?? error.message}`, { cause: error });
}

/**
 * That a command does not read its input is its own affair, as in a shell.
 *
 * @throws {Error} when stdin cannot be read to its end, which the command is then not told
 */
async function feed(stdin: Readable, command: SandboxCommand): Promise<void> {
  try {
    for await (const chunk of stdin) await command.writeStdin(chunk as Uint8Array);
  } catch (error) {
    if (!(error instanceof SandboxError)) throw failure('stdin could not be read', error as Error);
  }
  await command.closeStdin().catch(() => {});
}

function write(stream: Writable, data: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => (error ? reject(error) : resolve()));
  });
}
