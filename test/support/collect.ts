import { createHash, type Hash } from 'node:crypto';
import type { Exit, OutputFrame, SandboxCommand, SandboxFrame } from '#libs/contract';

/** Everything that a command's `frames$` gave, and the one way in which it ended. */
export interface Collected {
  readonly frames: SandboxFrame[];
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** The exit frame, without its type. */
  readonly exit?: Exit;
  readonly completed: boolean;
  readonly error?: unknown;
}

/** Subscribes to `frames$` and resolves when it ended, either way. */
export function collect(command: Pick<SandboxCommand, 'frames$'>): Promise<Collected> {
  return new Promise((resolve) => {
    const frames: SandboxFrame[] = [];
    const end = (how: { completed: boolean; error?: unknown }): void => {
      const exit = frames.find((frame) => frame.type === 'exit');
      resolve({
        frames,
        stdout: bytesOf(frames, 'stdout'),
        stderr: bytesOf(frames, 'stderr'),
        ...(exit && { exit: exitOf(exit) }),
        ...how,
      });
    };
    command.frames$.subscribe({
      next: (frame) => frames.push(frame),
      error: (error: unknown) => end({ completed: false, error }),
      complete: () => end({ completed: true }),
    });
  });
}

/** Reads through `forEach`, which returns credit as it goes, and keeps digests instead of bytes. */
export async function digest(command: Pick<SandboxCommand, 'forEach'>): Promise<Digest> {
  const streams = { stdout: new StreamDigest(), stderr: new StreamDigest() };
  const exit = await command.forEach((frame) => streams[frame.type].take(frame));
  return { exit, stdout: streams.stdout.value(), stderr: streams.stderr.value() };
}

export interface Digest {
  readonly exit: Exit;
  readonly stdout: { bytes: number; sha256: string };
  readonly stderr: { bytes: number; sha256: string };
}

/** Counts and hashes one stream, and fails on a frame that does not continue it. */
class StreamDigest {
  #bytes = 0;
  readonly #hash: Hash = createHash('sha256');

  take(frame: OutputFrame): void {
    if (frame.offset !== this.#bytes) throw new Error(`${frame.type} at ${frame.offset}, expected ${this.#bytes}`);
    this.#bytes += frame.data.byteLength;
    this.#hash.update(frame.data);
  }

  value(): { bytes: number; sha256: string } {
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') };
  }
}

export function sha256(data: Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

function bytesOf(frames: readonly SandboxFrame[], stream: 'stdout' | 'stderr'): Buffer {
  return Buffer.concat(frames.flatMap((frame) => (frame.type === stream ? [frame.data] : [])));
}

function exitOf({ exitCode, signal, startError }: Exit): Exit {
  return { exitCode, ...(signal && { signal }), ...(startError !== undefined && { startError }) };
}
