import type { OutputStream } from '../kit/emulated-process.js';

/** First byte of each binary message of a command without a terminal. */
export const FRAME = { stdin: 0, stdout: 1, stderr: 2, exit: 3, stdinEof: 4 } as const;

/** Bytes of output in one frame. */
const MAX_PAYLOAD = 32 * 1024;

export function* outputFrames(stream: OutputStream, data: Buffer): Generator<Buffer> {
  for (let at = 0; at < data.length; at += MAX_PAYLOAD) {
    yield Buffer.concat([Buffer.of(FRAME[stream]), data.subarray(at, at + MAX_PAYLOAD)]);
  }
}

/** One byte: the service has no more for an exit code. */
export function exitFrame(exitCode: number): Buffer {
  return Buffer.of(FRAME.exit, exitCode & 0xff);
}
