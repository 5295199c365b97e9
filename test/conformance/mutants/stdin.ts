import { Writable } from 'node:stream';
import { callbackify } from 'node:util';
import { SandboxError, type Bytes, type CallOptions, type SandboxCommand, type SandboxErrorCode } from '#libs/contract';
import { TargetFake } from '../targets/fake.js';
import { fake, never, text, withChannel, withCommands } from './making.js';
import type { Mutant } from './mutant.js';

export const stdinMutants: readonly Mutant[] = [
  {
    name: 'writes swapped',
    defect: 'Every second write overtakes the one before it.',
    caughtBy: ['STD-001', 'STD-004', 'STD-005', 'PRO-016'],
    make: () =>
      fake(
        withChannel((channel) => {
          let held: Uint8Array | undefined;
          const flush = async (): Promise<void> => {
            const first = held;
            held = undefined;
            if (first) await channel.write(first);
          };
          return {
            async write(data) {
              if (held === undefined) {
                held = data.slice();
              } else {
                await channel.write(data);
                await flush();
              }
            },
            async closeStdin() {
              await flush();
              await channel.closeStdin();
            },
          };
        }),
      ),
  },
  {
    name: 'stdin never ends',
    defect: 'Closing stdin does nothing.',
    caughtBy: ['STD-002'],
    caughtByHanging: ['STD-001', 'STD-007', 'PRO-015', 'PRO-016'],
    make: () => fake(withChannel(() => ({ closeStdin: async () => {} }))),
  },
  {
    name: 'one write and no more',
    defect: 'stdin ends behind the first write.',
    caughtBy: [],
    caughtByRefusal: ['STD-003'],
    make: () =>
      fake(
        withChannel((channel) => ({
          async write(data) {
            await channel.write(data);
            await channel.closeStdin();
          },
        })),
      ),
  },
  {
    name: 'stdin is text',
    defect: 'Bytes for stdin become text and bytes again.',
    caughtBy: ['STD-004', 'STD-005', 'STD-006', 'STD-007', 'PRO-015', 'PRO-016'],
    make: () => fake(withChannel((channel) => ({ write: (data) => channel.write(Buffer.from(text(data))) }))),
  },
  {
    name: 'one request a write',
    defect: 'Of a write only what fits into one request is written.',
    caughtBy: ['STD-005'],
    make: () =>
      fake(
        withWrites((command, data, options) =>
          command.writeStdin(isBytes(data) ? data.slice(0, 262_144) : data, options),
        ),
      ),
  },
  {
    name: 'stdin loses the thread',
    defect: 'Behind 64 KiB of stdin a byte is changed.',
    caughtBy: ['STD-005', 'STD-006', 'STD-007', 'PRO-015'],
    make: () =>
      fake(
        withChannel((channel) => {
          let written = 0;
          return {
            async write(data) {
              const at = 65_536 - written;
              written += data.byteLength;
              const isInside = at >= 0 && at < data.byteLength;
              await channel.write(isInside ? data.map((byte, i) => (i === at ? byte ^ 1 : byte)) : data);
            },
          };
        }),
      ),
  },
  {
    name: 'a Writable without an end',
    defect: 'The end of the Writable is not the end of stdin.',
    caughtBy: [],
    caughtByHanging: ['STD-007'],
    make: () =>
      fake(
        withCommands((command) => ({
          stdin: new Writable({
            write(chunk: Uint8Array, _, callback: (error?: Error) => void) {
              callbackify(() => command.writeStdin(chunk))(callback);
            },
          }),
        })),
      ),
  },
  {
    name: 'closes once',
    defect: 'A second close of stdin is refused.',
    caughtBy: [],
    caughtByRefusal: ['STD-008'],
    make: () =>
      fake(
        withCommands((command) => {
          let isClosed = false;
          return {
            closeStdin(options?: CallOptions): Promise<void> {
              if (isClosed) return Promise.reject(new SandboxError('invalid', { detail: 'stdin_closed' }));
              isClosed = true;
              return command.closeStdin(options);
            },
          };
        }),
      ),
  },
  {
    name: 'writes after close swallowed',
    defect: 'A write after stdin was closed succeeds.',
    caughtBy: ['STD-009'],
    make: () => fake(withWrites(swallowing((error) => error.detail === 'stdin_closed'))),
  },
  {
    name: 'writes to nowhere',
    defect: 'A write to a stdin that is not open succeeds.',
    caughtBy: ['STD-010', 'SES-020', 'SES-021'],
    make: () => fake(withWrites(swallowing((error) => error.detail === 'stdin_not_open'))),
  },
  {
    name: 'writes to the dead',
    defect: 'A write to a command that has exited succeeds.',
    caughtBy: ['STD-011', 'STD-014', 'STD-015'],
    make: () => fake(withWrites(swallowing((error) => error.code === 'command_exited'))),
  },
  {
    name: 'waits for the dead',
    defect: 'A write to a command that is gone waits for ever.',
    caughtBy: ['STD-011', 'STD-014', 'STD-015', 'STD-016'],
    make: () => fake(withWrites(hangingOn('command_exited', 'unavailable'))),
  },
  {
    name: 'whatever it is',
    defect: 'What is neither bytes nor text is written as text.',
    caughtBy: ['STD-012'],
    make: () =>
      fake(
        withWrites((command, data, options) =>
          command.writeStdin(isBytes(data) || typeof data === 'string' ? data : String(data), options),
        ),
      ),
  },
  {
    name: 'takes every write',
    defect: 'A write resolves at once, and what was written waits in memory.',
    caughtBy: ['STD-013', 'STD-014', 'STD-015', 'STD-016', 'STD-017', 'STD-019'],
    make: () =>
      fake(
        withWrites(async (command, data, options) => {
          command.writeStdin(data, options).catch(() => {});
        }),
      ),
  },
  {
    name: 'a write blocks the sandbox',
    defect: 'While a write waits, no exec of the sandbox begins.',
    caughtBy: ['STD-013'],
    make: () =>
      fake(
        class extends TargetFake {
          #writing: Promise<unknown> = Promise.resolve();
          protected override async doSpawn(
            ...[handle, request]: Parameters<TargetFake['doSpawn']>
          ): ReturnType<TargetFake['doSpawn']> {
            const command = await super.doSpawn(handle, request);
            const write = command.writeStdin.bind(command);
            return Object.assign(command, {
              writeStdin: (data: Bytes, options?: CallOptions): Promise<void> => {
                const writing = write(data, options);
                this.#writing = writing.catch(() => {});
                return writing;
              },
            });
          }
          protected override async doExec(
            ...[handle, request]: Parameters<TargetFake['doExec']>
          ): ReturnType<TargetFake['doExec']> {
            await this.#writing;
            return super.doExec(handle, request);
          }
        },
      ),
  },
  {
    name: 'writes hear no signal',
    defect: 'The signal of a write is ignored.',
    caughtBy: ['STD-017', 'STD-018'],
    make: () => fake(withWrites((command, data) => command.writeStdin(data))),
  },
  {
    name: 'a closed pipe swallowed',
    defect: 'A write to a command that has closed its stdin succeeds.',
    caughtBy: ['STD-019'],
    make: () => fake(withWrites(swallowing((error) => error.code === 'write_failed'))),
  },
  {
    name: 'an aborted write is the last',
    defect: 'Behind a write that was aborted while it waited nothing is written any more.',
    caughtBy: [],
    caughtByHanging: ['STD-021'],
    make: () =>
      fake(
        withCommands((command) => {
          let isStuck = false;
          return {
            async writeStdin(data: Bytes, options?: CallOptions): Promise<void> {
              if (isStuck) return never();
              await command.writeStdin(data, options).catch((error: SandboxError) => {
                isStuck = error.code === 'aborted' && error.effect === 'unknown';
                throw error;
              });
            },
          };
        }),
      ),
  },
  {
    name: 'the last of a Writable lost',
    defect: 'What is given with the end of the Writable is not written.',
    caughtBy: ['STD-022'],
    make: () =>
      fake(
        withCommands((command) => {
          const { stdin } = command;
          if (stdin === undefined) return {};
          const end = stdin.end.bind(stdin) as () => Writable;
          return { stdin: Object.assign(stdin, { end: () => end() }) };
        }),
      ),
  },
];

type Write = (command: SandboxCommand, data: Bytes, options?: CallOptions) => Promise<void>;

function withWrites(write: Write): ReturnType<typeof withCommands> {
  return withCommands((command) => ({
    writeStdin: (data: Bytes, options?: CallOptions) => write(command, data, options),
  }));
}

function swallowing(isSwallowed: (error: SandboxError) => boolean): Write {
  return async (command, data, options) => {
    try {
      await command.writeStdin(data, options);
    } catch (error) {
      if (!isSwallowed(error as SandboxError)) throw error;
    }
  };
}

function hangingOn(...codes: readonly SandboxErrorCode[]): Write {
  return (command, data, options) =>
    command
      .writeStdin(data, options)
      .catch((error: SandboxError) => (codes.includes(error.code) ? never() : Promise.reject(error)));
}

function isBytes(data: unknown): data is Uint8Array {
  return data instanceof Uint8Array;
}
