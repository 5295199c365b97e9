import { open } from 'node:fs/promises';
import { sleep } from './within.js';
import type { SessionCommand } from './session-command.js';

/** How often a log is looked at. */
const LOOK_MS = 10;

/**
 * A log from its first byte on, in chunks. It ends when the command has ended and `quietMs` have passed without output,
 * or without `follow` at the first end of the file.
 */
export async function* readLog(
  command: SessionCommand,
  how: {
    readonly follow: boolean;
    readonly chunkBytes: number;
    readonly quietMs: number;
    readonly signal: AbortSignal;
  },
): AsyncGenerator<Buffer> {
  const file = await open(command.files.log, 'r');
  try {
    let quietSince = performance.now();
    for (let last = false; ;) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(how.chunkBytes), 0);
      if (bytesRead > 0) {
        quietSince = performance.now();
        yield buffer.subarray(0, bytesRead);
      } else if (last || !how.follow) return;
      else if (performance.now() - quietSince >= how.quietMs && (await command.ended())) last = true;
      else await sleep(LOOK_MS, how.signal);
    }
  } finally {
    await file.close();
  }
}

/** Takes the markers out of chunks that may cut them anywhere. */
export class Merger {
  #carry: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Buffer {
    const all = Buffer.concat([this.#carry, chunk]);
    const kept: Buffer[] = [];
    let from = 0;
    let at = 0;
    for (; at < all.length; at += 1) {
      const byte = all[at]!;
      if (byte !== 1 && byte !== 2) continue;
      const rest = all.subarray(at, at + 3);
      if (!rest.every((other) => other === byte)) continue;
      kept.push(all.subarray(from, at));
      from = at + rest.length;
      // Perhaps the beginning of a marker.
      if (rest.length < 3) {
        this.#carry = Buffer.from(rest);
        return Buffer.concat(kept);
      }
      at += 2;
    }
    this.#carry = Buffer.alloc(0);
    kept.push(all.subarray(from));
    return Buffer.concat(kept);
  }

  end(): Buffer {
    return this.#carry;
  }
}
