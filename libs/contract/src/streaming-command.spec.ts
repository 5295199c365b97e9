import { inspect } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { firstValueFrom, lastValueFrom, take, toArray } from 'rxjs';
import type { CommandChannel } from './command-channel.js';
import { CommandStream } from './command-stream.js';
import type { OutputFrame, SandboxFrame, TerminalSize } from './frames.js';
import { sandboxHandle } from './handle.js';
import type { CallOptions } from './operations.js';
import { SandboxError } from './sandbox-error.js';
import { StreamingCommand } from './streaming-command.js';

/** Records what a command asks of its channel; `write` waits for `answer` when `holds` is set. */
class RecordingChannel implements CommandChannel {
  readonly calls: string[] = [];
  takenBytes = 0;
  holds = false;
  answer: ((error?: SandboxError) => void) | undefined;

  taken(bytes: number): void {
    this.takenBytes += bytes;
  }

  async write(data: Uint8Array, options: CallOptions = {}): Promise<void> {
    this.calls.push(`write ${data.byteLength > 20 ? data.byteLength : Buffer.from(data).toString()}`);
    if (!this.holds) return;
    await new Promise<void>((resolve, reject) => {
      this.answer = (error) => (error ? reject(error) : resolve());
      options.signal?.addEventListener('abort', () => reject(new SandboxError('aborted', { effect: 'unknown' })));
    });
  }

  async closeStdin(): Promise<void> {
    this.calls.push('close');
  }

  async resize({ cols, rows }: TerminalSize): Promise<void> {
    this.calls.push(`resize ${cols}x${rows}`);
  }

  async stop(): Promise<void> {
    this.calls.push('stop');
  }
}

function setUp(init: { stdin?: boolean; tty?: boolean } = {}) {
  const stream = new CommandStream();
  const channel = new RecordingChannel();
  const command = new StreamingCommand({
    provider: 'fake',
    handle: sandboxHandle('fake', 'box'),
    sessionId: 's-1',
    stream,
    channel,
    stdin: init.stdin ?? true,
    tty: init.tty ?? false,
  });
  return { stream, channel, command };
}

const offsets = { stdout: 0, stderr: 0 };
function output(text: string, type: 'stdout' | 'stderr' = 'stdout', offset = offsets[type]): OutputFrame {
  return { type, data: Buffer.from(text), offset };
}
const EXIT: SandboxFrame = { type: 'exit', exitCode: 7 };
const LOST = new SandboxError('unavailable', { detail: 'runner_disconnected', provider: 'fake' });
const DETACHED = { code: 'unavailable', detail: 'detached', effect: 'none' };
const CONSUMED = { code: 'invalid', detail: 'already_consumed', effect: 'none' };
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('reading', () => {
  test('the iterator gives frames in order, the exit last, and returns the credit of each', async () => {
    const { stream, channel, command } = setUp();
    stream.frame(output('one'));
    const seen: SandboxFrame[] = [];
    for await (const frame of command) {
      seen.push(frame);
      if (seen.length === 1) {
        expect(channel.takenBytes).toBe(3);
        stream.frame(output('err', 'stderr'));
        stream.frame(EXIT);
      }
    }
    expect(seen).toEqual([output('one'), output('err', 'stderr'), EXIT]);
    expect(channel.takenBytes).toBe(6);
    expect(channel.calls).toEqual([]);
  });

  test('frames$ delivers nothing before subscribe has returned, then everything and completes', async () => {
    const { stream, command, channel } = setUp();
    stream.frame(output('early'));
    stream.frame(EXIT);
    let returned = false;
    const seen: [boolean, string][] = [];
    await new Promise<void>((complete) => {
      command.frames$.subscribe({ next: (frame) => seen.push([returned, frame.type]), complete });
      returned = true;
    });
    expect(seen).toEqual([
      [true, 'stdout'],
      [true, 'exit'],
    ]);
    expect(channel.calls).toEqual([]);
  });
});

void [firstValueFrom, lastValueFrom, take, toArray, inspect, LOST, DETACHED, CONSUMED, turn];
