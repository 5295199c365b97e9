import type { ByteSource } from './bytes.js';
import { invalidArgument } from './checks.js';
import type { SandboxCommand } from './command.js';
import { SandboxError } from './sandbox-error.js';

/**
 * Writes all of `source` to a command's stdin, each piece once the pipe took the one before, then closes it. A command
 * that ends or closes its stdin first is left at that: its exit says what came of it. The source is let go as soon as
 * the command ends.
 *
 * @throws {SandboxError} what else kept a piece from being written; `invalid` / `argument` when the source failed, with
 *   its error as `cause`
 */
export async function feedStdin(command: SandboxCommand, source: ByteSource): Promise<void> {
  try {
    if (source instanceof Uint8Array) await command.writeStdin(source);
    else await feedPieces(command, source);
    await command.closeStdin();
  } catch (error) {
    if (!(error instanceof SandboxError) || !NOT_READ.has(error.code)) throw error;
  }
}

const NOT_READ: ReadonlySet<string> = new Set(['command_exited', 'write_failed']);

async function feedPieces(command: SandboxCommand, source: AsyncIterable<Uint8Array>): Promise<void> {
  const pieces = source[Symbol.asyncIterator]();
  let over = false;
  // Not awaited: a source that hangs would keep the result of a command that has ended.
  const release = () => {
    if (!over) pieces.return?.().catch(() => {});
    over = true;
  };
  command.exit.then(release, release);
  try {
    while (!over) {
      const { done, value } = await nextPiece(pieces);
      if (done) over = true;
      else await command.writeStdin(value);
    }
  } finally {
    release();
  }
}

async function nextPiece(pieces: AsyncIterator<Uint8Array>): Promise<IteratorResult<Uint8Array>> {
  try {
    return await pieces.next();
  } catch (error) {
    const isPiece = error instanceof SandboxError && error.code === 'invalid';
    throw isPiece ? error : invalidArgument('stdin: its source failed').with({ cause: error });
  }
}
