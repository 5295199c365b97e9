import { constants } from 'node:os';
import { toBytes, type Bytes, type Exit, type OutputFrame, type TerminalSize } from '#libs/contract';
import type { Clock } from '#libs/protocol';
import type { FakeProcess, FakeProcessFiles, FakeProgram } from './fake-program.js';
import type { ScriptedStdin } from './scripted-stdin.js';

/** What a process is started with. */
export interface ProcessContext {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly dir: string;
  readonly size: TerminalSize | undefined;
  readonly files: FakeProcessFiles;
  readonly clock: Clock;
  /** The most that is written in one piece. */
  readonly frameBytes: number;
  readonly reaches: (host: string) => boolean;
}

/** What a process needs of its session. */
export interface ProcessSession {
  readonly stdin: ScriptedStdin;
  /** Whether what is written goes nowhere. */
  readonly discards: boolean;
  hasRoom(bytes: number): boolean;
  append(stream: OutputFrame['type'], data: Uint8Array): void;
  /** The first end counts. */
  finish(exit: Exit): void;
  lose(): void;
}

/** After so many steps others get their turn: a program that never waits must not stop the clock. */
const STEPS_PER_TURN = 64;

/** Runs one program, which stands still while its sandbox sleeps and goes no further once it was killed. */
export class SessionProcess implements FakeProcess {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly dir: string;
  readonly tty: boolean;
  readonly files: FakeProcessFiles;
  readonly hasStdin: boolean;
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly reaches: (host: string) => boolean;

  readonly #session: ProcessSession;
  readonly #clock: Clock;
  readonly #frameBytes: number;
  readonly #signalHandlers = new Map<NodeJS.Signals, () => void | Promise<void>>();
  readonly #resizeHandlers: ((size: TerminalSize) => void)[] = [];
  readonly #timers = new Set<() => void>();
  readonly #ended = new AbortController();
  #size: TerminalSize | undefined;
  #frozen = false;
  #isOver = false;
  #steps = 0;
  #waiting: (() => void)[] = [];
  /** Settles when everything that was written has been. */
  #written: Promise<void> = Promise.resolve();
  #settle!: () => void;

  /** Resolves when nothing of it runs any more. */
  readonly over = new Promise<void>((resolve) => (this.#settle = resolve));

  constructor(session: ProcessSession, context: ProcessContext) {
    this.#session = session;
    ({ cmd: this.cmd, args: this.args, env: this.env, dir: this.dir, files: this.files } = context);
    ({ clock: this.#clock, frameBytes: this.#frameBytes, size: this.#size, reaches: this.reaches } = context);
    this.tty = context.size !== undefined;
    this.hasStdin = session.stdin.isOpen;
    this.stdin = { [Symbol.asyncIterator]: () => ({ next: () => this.#read() }) };
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get size(): TerminalSize | undefined {
    return this.#size;
  }

  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Begins in a later turn, when whoever started it had time to read. @param start why it cannot, or what runs */
  async run(start: FakeProgram | Exit): Promise<void> {
    await this.#until(() => true);
    if (typeof start !== 'function') return this.#end(start);
    try {
      this.exit(await start(this));
    } catch (error) {
      this.#fail(error);
    }
  }

  readonly closeStdin = (): void => {
    this.#session.stdin.refuse();
  };

  readonly write = (stream: 'stdout' | 'stderr', data: Bytes): Promise<void> => {
    const bytes = Buffer.from(toBytes('data', data));
    return this.#inOrder(() => this.#write(stream, bytes));
  };

  readonly exit = (code: number): void => {
    const exitCode = checkExitCode(code);
    void this.#inOrder(() => this.#end({ exitCode }));
  };

  readonly daemonize = (code: number): void => {
    const exitCode = checkExitCode(code);
    void this.#inOrder(() => this.#session.finish({ exitCode }));
  };

  readonly drop = (): void => {
    void this.#inOrder(() => this.#session.lose());
  };

  readonly onSignal = (signal: NodeJS.Signals, handler: () => void | Promise<void>): void => {
    this.#signalHandlers.set(signal, handler);
  };

  readonly raise = (signal: NodeJS.Signals): void => {
    void this.#inOrder(() => this.signal(signal));
  };

  readonly onResize = (handler: (size: TerminalSize) => void): void => {
    this.#resizeHandlers.push(handler);
  };

  readonly sleep = async (ms: number): Promise<void> => {
    let isTime = false;
    const cancel = this.#clock.after(ms, () => {
      isTime = true;
      this.#timers.delete(cancel);
      this.changed();
    });
    this.#timers.add(cancel);
    await this.#until(() => isTime);
  };

  /** Without a handler it dies of it, and is over when this returns. */
  signal(name: NodeJS.Signals): void {
    if (this.#isOver) return;
    const handler = name === 'SIGKILL' ? undefined : this.#signalHandlers.get(name);
    if (handler === undefined) return this.#end({ exitCode: 128 + (constants.signals[name] ?? 0), signal: name });
    const handled = async (): Promise<void> => await handler();
    handled().catch((error: unknown) => this.#fail(error));
  }

  resize(size: TerminalSize): void {
    this.#size = size;
    for (const handler of this.#resizeHandlers) handler(size);
  }

  /** Stands still while its sandbox sleeps. */
  freeze(frozen: boolean): void {
    this.#frozen = frozen;
    this.changed();
  }

  /** What it waits for may be there. */
  changed(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async #write(stream: OutputFrame['type'], data: Uint8Array): Promise<void> {
    const session = this.#session;
    for (let at = 0; at < data.byteLength; at += this.#frameBytes) {
      const piece = data.subarray(at, at + this.#frameBytes);
      await this.#until(() => session.discards || session.hasRoom(piece.byteLength));
      if (session.discards) return;
      session.append(stream, piece);
    }
  }

  async #read(): Promise<IteratorResult<Uint8Array, undefined>> {
    let read: Uint8Array | 'eof' | undefined;
    await this.#until(() => (read = this.#session.stdin.read()) !== undefined);
    return read instanceof Uint8Array ? { done: false, value: read } : { done: true, value: undefined };
  }

  /** Behind what was written before. */
  #inOrder(step: () => void | Promise<void>): Promise<void> {
    const done = this.#written.then(() => this.#until(() => true)).then(step);
    this.#written = done.catch(() => {});
    return done;
  }

  /** Waits, one turn at least, until `ready` says so of a process that may run. */
  async #until(ready: () => boolean): Promise<void> {
    await (++this.#steps % STEPS_PER_TURN === 0 ? new Promise(setImmediate) : undefined);
    while (this.#isOver || this.#frozen || !ready()) {
      await new Promise<void>((wake) => {
        if (!this.#isOver) this.#waiting.push(wake);
      });
    }
  }

  #fail(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    void this.write('stderr', `${message}\n`);
    this.exit(1);
  }

  #end(exit: Exit): void {
    this.#isOver = true;
    this.#waiting = [];
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#session.finish(exit);
    this.#settle();
    this.#ended.abort();
  }
}

function checkExitCode(code: number): number {
  if (Number.isInteger(code) && code >= 0 && code <= 255) return code;
  throw new TypeError('a program ends with an exit code from 0 to 255');
}
