import type { Readable } from 'node:stream';
import type { Exit, OutputFrame, SandboxCommand, SandboxFrame } from '#libs/contract';
import { describe } from './describe.js';
import { expectThat } from './expect.js';
import { Mismatch } from './mismatch.js';

/** What a reader made of the whole output. */
export interface Truth {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly exit: Exit;
}

/** Every way to read all of a command's output. */
export const WAYS: Readonly<Record<string, (command: SandboxCommand) => Promise<Truth>>> = {
  async forEach(command) {
    const frames: OutputFrame[] = [];
    const exit = await command.forEach((frame) => void frames.push(frame));
    return { ...joined(frames), exit };
  },
  async frames$(command) {
    const frames = await observed(command);
    return { ...joined(frames), exit: exitOf(frames.at(-1)) };
  },
  async 'the iterator'(command) {
    const frames: SandboxFrame[] = [];
    for await (const frame of command) frames.push(frame);
    return { ...joined(frames), exit: exitOf(frames.at(-1)) };
  },
  async 'streams()'(command) {
    const { stdout, stderr } = command.streams();
    const [out, err] = await Promise.all([collect(stdout), collect(stderr)]);
    const exit = await command.exit.catch((error: unknown) => {
      throw new Mismatch('the end of streams that ended in good order', 'an exit', describe(error));
    });
    return { stdout: out, stderr: err, exit };
  },
};

/** Every way to let go of a command that has written something and runs. */
export const LETTING_GO: Readonly<Record<string, (command: SandboxCommand) => PromiseLike<unknown>>> = {
  'stop()': (command) => command.stop(),
  'asynchronous disposal': (command) => command[Symbol.asyncDispose](),
  async 'a subscriber that leaves'(command) {
    command.frames$.subscribe({ error: () => {} }).unsubscribe();
  },
  async 'a loop that is left'(command) {
    for await (const _ of command) break;
  },
  async 'streams that are destroyed'(command) {
    for (const stream of Object.values(command.streams())) stream.destroy();
  },
  'a sink that fails': (command) => command.forEach(() => Promise.reject(new Error('of the sink'))).catch(() => {}),
};

/** Reads and drops all of the output. */
export async function drained(command: SandboxCommand): Promise<Pick<Truth, 'exit'>> {
  return { exit: await command.drain() };
}

/** All that frames$ emits until it completes; rejects with its error. */
export function observed(command: SandboxCommand, onFrame?: (frame: SandboxFrame) => void): Promise<SandboxFrame[]> {
  return new Promise((resolve, reject) => {
    const frames: SandboxFrame[] = [];
    command.frames$.subscribe({
      next(frame) {
        onFrame?.(frame);
        frames.push(frame);
      },
      error: reject,
      complete: () => resolve(frames),
    });
  });
}

export function joined(frames: readonly SandboxFrame[]): { stdout: Buffer; stderr: Buffer } {
  const streams = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
  for (const frame of frames) if (frame.type !== 'exit') streams[frame.type].push(frame.data);
  return { stdout: Buffer.concat(streams.stdout), stderr: Buffer.concat(streams.stderr) };
}

function exitOf(frame: SandboxFrame | undefined): Exit {
  expectThat('the last frame', frame?.type === 'exit', 'an exit', frame);
  const { type: _, ...exit } = frame;
  return exit;
}

/** All of a stream; rejects with its error. */
export async function collect(stream: Readable): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of stream) pieces.push(piece as Uint8Array);
  return Buffer.concat(pieces);
}
