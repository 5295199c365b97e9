import { SandboxError, collectBytes, invalidArgument, type ByteSource } from '#libs/contract';
import type { Deadline } from './deadline.js';

/** The largest file that goes through one request, either way. */
export const MAX_FILE_BYTES = 256 * 1024 * 1024;
/** The most that the answer with the entries of a directory may hold. */
export const MAX_LIST_BYTES = 64 * 1024 * 1024;

/** All of a file's content, before anything is sent. */
export async function gatherContent(content: ByteSource, deadline: Deadline): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const source = content instanceof Uint8Array ? content : asLongAs(deadline, content);
    const bytes = await deadline.race(collectBytes(source, MAX_FILE_BYTES), 'none');
    return new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
  } catch (error) {
    throw error instanceof SandboxError ? error : invalidArgument('content: its source failed').with({ cause: error });
  }
}

/** Lets go of a source that gives more when the time is up. */
async function* asLongAs(deadline: Deadline, pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    deadline.check();
    yield piece;
  }
}
