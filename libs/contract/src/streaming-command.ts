import type { Readable, Writable } from 'node:stream';
import type { Observable } from 'rxjs';
import { checkTerminalSize, invalidArgument } from './checks.js';
import type { SandboxCommand } from './command.js';
import type { CommandChannel } from './command-channel.js';
import { commandObservable } from './command-observable.js';
import { commandReadables } from './command-readables.js';
import { CommandStdin } from './command-stdin.js';
import type { CommandStream } from './command-stream.js';
import { FrameIterator } from './frame-iterator.js';
import type { Exit, OutputFrame, SandboxFrame, TerminalSize } from './frames.js';
import type { SandboxHandle } from './handle.js';
import { operationError } from './operation-error.js';
import type { Bytes, CallOptions } from './operations.js';
import { SandboxError } from './sandbox-error.js';
import { StdinQueue } from './stdin-queue.js';

/** What a {@link StreamingCommand} is made of. */
export interface StreamingCommandInit {
  readonly provider: string;
  /** The call that gave it; errors of its output name it, so that a command is not repeated. @default 'spawn' */
  readonly operation?: 'spawn' | 'attach';
  readonly handle: SandboxHandle;
  readonly sessionId?: string;
  /** Where the adapter delivers the output. The command connects it to `channel.taken`. */
  readonly stream: CommandStream;
  readonly channel: CommandChannel;
  /** Whether stdin was opened. */
  readonly stdin: boolean;
  /** Whether it runs on a terminal. */
  readonly tty: boolean;
}

let commands = 0;

/** The command that adapters give: every way to read, over one {@link CommandStream} and one {@link CommandChannel}. */
export class StreamingCommand implements SandboxCommand {
  readonly provider: string;
  readonly ref: string;
  readonly handle: SandboxHandle;
  readonly sessionId?: string;
  readonly #stream: CommandStream;
  readonly #channel: CommandChannel;
  readonly #stdin: StdinQueue;
  readonly #hasStdin: boolean;
  readonly #tty: boolean;
  readonly #detach = (): void => void this.stop().catch(() => {});
  #frames$: Observable<SandboxFrame> | undefined;
  #writable: Writable | undefined;
  #stopped: Promise<void> | undefined;

  constructor(init: StreamingCommandInit) {
    this.provider = init.provider;
    this.ref = `${init.provider}:${++commands}`;
    this.handle = init.handle;
    this.sessionId = init.sessionId;
    this.#stream = init.stream;
    this.#channel = init.channel;
    this.#hasStdin = init.stdin;
    this.#tty = init.tty;
    this.#stdin = new StdinQueue(init.stream, init.channel, init.stdin);
    const { provider, operation = 'spawn' } = init;
    init.stream.connect((bytes) => init.channel.taken(bytes), { provider, operation });
  }

  get outputBytes(): number {
    return this.#stream.outputBytes;
  }

  get frames$(): Observable<SandboxFrame> {
    return (this.#frames$ ??= commandObservable(this.#stream, this.#detach));
  }

  get exit(): Promise<Exit> {
    return this.#stream.exit;
  }

  get stdin(): Writable | undefined {
    if (!this.#hasStdin) return undefined;
    return (this.#writable ??= new CommandStdin(this));
  }

  async forEach(sink: (frame: OutputFrame) => void | PromiseLike<void>): Promise<Exit> {
    if (typeof sink !== 'function') throw invalidArgument('sink: expected a function');
    const reader = this.#stream.claim();
    // The first in a later turn: no sink is called before its caller has the promise.
    for (let item = await reader.next(); ; item = reader.read() ?? (await reader.next())) {
      if (item.type === 'error') throw item.error;
      if (item.type === 'exit') return this.exit;
      try {
        const taking = sink(item);
        if (taking !== undefined) await taking;
      } catch (error) {
        this.#detach();
        throw error;
      }
      reader.taken(item);
    }
  }

  drain(): Promise<Exit> {
    return this.forEach(() => {});
  }

  streams(): { stdout: Readable; stderr: Readable } {
    return commandReadables(this.#stream, this.#detach);
  }

  [Symbol.asyncIterator](): AsyncIterator<SandboxFrame, undefined> {
    return new FrameIterator(this.#stream, () => this.stop());
  }

  writeStdin(data: Bytes, options?: CallOptions): Promise<void> {
    return this.#call('writeStdin', () => this.#stdin.write(data, options), options?.signal);
  }

  closeStdin(options?: CallOptions): Promise<void> {
    return this.#call('closeStdin', () => this.#stdin.close(options), options?.signal);
  }

  resize(size: TerminalSize): Promise<void> {
    return this.#call('resize', async () => {
      const checked = checkTerminalSize('size', size);
      const { end } = this.#stream;
      if (end instanceof SandboxError) throw end.with({ effect: 'none' });
      if (end !== undefined) return;
      if (!this.#tty || !this.#channel.resize) {
        throw new SandboxError('not_supported', { message: 'this command has no terminal to resize' });
      }
      try {
        await this.#channel.resize(checked);
      } catch (error) {
        if (!(error instanceof SandboxError && error.code === 'command_exited')) throw error;
      }
    });
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#call('stopCommand', () => this.#stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #stop(): Promise<void> {
    // The channel goes first: credit for what is dropped must not fetch more.
    const told = this.#stream.end === undefined ? this.#channel.stop() : undefined;
    this.#stream.detach();
    await told;
  }

  async #call(operation: string, work: () => Promise<void>, signal?: AbortSignal): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw operationError(error, { provider: this.provider, operation, signal });
    }
  }
}
