import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { CommandStream, StreamingCommand, sandboxHandle, type SandboxFrame } from '#libs/contract';
import { StdoutClosedError, pipeCommand } from './command-pipes.js';

interface Fixture {
  readonly stream: CommandStream;
  readonly command: StreamingCommand;
  readonly written: string[];
  readonly calls: string[];
}

function fixture(): Fixture {
  const stream = new CommandStream();
  const written: string[] = [];
  const calls: string[] = [];
  const command = new StreamingCommand({
    provider: 'runner',
    handle: sandboxHandle('runner', 'one'),
    stream,
    channel: {
      taken: (bytes) => calls.push(`taken ${bytes}`),
      write: async (data) => void written.push(Buffer.from(data).toString()),
      closeStdin: async () => void calls.push('closeStdin'),
      stop: async () => void calls.push('stop'),
    },
    stdin: true,
    tty: false,
  });
  return { stream, command, written, calls };
}

const out = (text: string, offset = 0): SandboxFrame => ({ type: 'stdout', data: Buffer.from(text), offset });
const err = (text: string, offset = 0): SandboxFrame => ({ type: 'stderr', data: Buffer.from(text), offset });
const errno = (code: string): Error => Object.assign(new Error('it failed'), { code });
const failing = (code = 'EPIPE'): Writable =>
  new Writable({ write: (_chunk, _encoding, callback) => callback(errno(code)) });

describe('pipeCommand', () => {
  test('passes output through and gives the exit', async () => {
    const { stream, command, calls } = fixture();
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    const done = pipeCommand(command, { stdin, stdout, stderr });
    stream.frame(out('a'));
    stream.frame(err('x'));
    stream.frame(out('bc', 1));
    stream.frame({ type: 'exit', exitCode: 7 });
    await expect(done).resolves.toEqual({ exitCode: 7 });
    expect([stdout.read()?.toString(), stderr.read()?.toString()]).toEqual(['abc', 'x']);
    expect(stdin.destroyed).toBe(true);
    expect(calls).toEqual(['taken 1', 'taken 1', 'taken 2']);
  });

  test('passes input through, then its end', async () => {
    const { stream, command, written, calls } = fixture();
    const stdin = new PassThrough();
    const done = pipeCommand(command, { stdin, stdout: new PassThrough(), stderr: new PassThrough() });
    stdin.write('one');
    stdin.end('two');
    await once(stdin, 'close');
    expect(written.join('')).toBe('onetwo');
    stream.frame({ type: 'exit', exitCode: 0 });
    await done;
    expect(calls).toContain('closeStdin');
  });

  test('takes no more from the command than stdout takes', async () => {
    const { stream, command, calls } = fixture();
    const waiting: (() => void)[] = [];
    const stdout = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, callback) => waiting.push(callback) });
    const done = pipeCommand(command, { stdin: new PassThrough(), stdout, stderr: new PassThrough() });
    stream.frame(out('aaa'));
    stream.frame(out('bbb', 3));
    stream.frame({ type: 'exit', exitCode: 0 });
    await new Promise(setImmediate);
    expect([waiting.length, calls]).toEqual([1, []]);
    waiting.shift()?.();
    await new Promise(setImmediate);
    expect([waiting.length, calls]).toEqual([1, ['taken 3']]);
    waiting.shift()?.();
    await expect(done).resolves.toEqual({ exitCode: 0 });
  });

  test('lets go of the command when stdout is closed', async () => {
    const { stream, command, calls } = fixture();
    const done = pipeCommand(command, { stdin: new PassThrough(), stdout: failing(), stderr: new PassThrough() });
    stream.frame(out('a'));
    await expect(done).rejects.toBeInstanceOf(StdoutClosedError);
    expect(calls).toContain('stop');
  });

  test('says so when stdout is not closed but cannot be written', async () => {
    const { stream, command } = fixture();
    const pipes = { stdin: new PassThrough(), stdout: failing('ENOSPC'), stderr: new PassThrough() };
    const done = pipeCommand(command, pipes);
    stream.frame(out('a'));
    await expect(done).rejects.toThrow(/^stdout could not be written: ENOSPC$/);
    await expect(done).rejects.not.toBeInstanceOf(StdoutClosedError);
  });

  test('does not pass off stdin that cannot be read to its end as all of it', async () => {
    const { command, written, calls } = fixture();
    const stdin = new PassThrough();
    const done = pipeCommand(command, { stdin, stdout: new PassThrough(), stderr: new PassThrough() });
    stdin.write('one');
    await new Promise(setImmediate);
    stdin.destroy(errno('EIO'));
    await expect(done).rejects.toThrow(/^stdin could not be read: EIO$/);
    await new Promise(setImmediate);
    expect([written, calls]).toEqual([['one'], []]);
  });

  test('goes on when stderr is closed', async () => {
    const { stream, command } = fixture();
    const done = pipeCommand(command, { stdin: new PassThrough(), stdout: new PassThrough(), stderr: failing() });
    stream.frame(err('a'));
    stream.frame({ type: 'exit', exitCode: 3 });
    await expect(done).resolves.toEqual({ exitCode: 3 });
  });

  test.each(['command_exited', 'write_failed'] as const)('survives input that is refused with %s', async (code) => {
    const { stream, command } = fixture();
    const { SandboxError } = await import('#libs/contract');
    command.writeStdin = () => Promise.reject(new SandboxError(code));
    const stdin = new PassThrough();
    const done = pipeCommand(command, { stdin, stdout: new PassThrough(), stderr: new PassThrough() });
    stdin.write('x');
    await new Promise((closed) => stdin.once('close', closed));
    stream.frame({ type: 'exit', exitCode: 0 });
    await expect(done).resolves.toEqual({ exitCode: 0 });
  });
});
