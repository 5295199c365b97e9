import type { SandboxError, TerminalSize } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { closedBeforeExit } from '../common/journal-errors.js';
import type { JsonObject } from '../common/json.js';
import type { ShProcess } from '../common/sh-process.js';
import { E2bEventStream } from './e2b.event-stream.js';
import { exitCodeOf } from './e2b.exit-code.js';
import { E2bInput } from './e2b.input.js';
import type { E2bMachine, Reach } from './e2b.machine.js';

/** Where the output of a process goes. Its end comes with the exit code, where there was one. */
export interface ProcessSink {
  output(data: Uint8Array): void;
  closed(error: SandboxError, exitCode?: number): void;
}

/** A process of a sandbox, by its pid, while one of its streams is read. It lives on without. */
export class E2bProcess implements ShProcess {
  readonly #sink: ProcessSink;
  readonly #stream: E2bEventStream;
  readonly #introduced: Promise<string>;
  #introduce!: (pid: string) => void;
  #fail!: (error: SandboxError) => void;
  #input: E2bInput | undefined;
  #hasEnded = false;

  constructor(machine: E2bMachine, sink: ProcessSink, tty: boolean) {
    this.#sink = sink;
    this.#introduced = new Promise((resolve, reject) => {
      this.#introduce = resolve;
      this.#fail = reject;
    });
    this.#introduced.catch(() => {});
    this.#stream = new E2bEventStream(machine, {
      started: (pid) => {
        this.#input = new E2bInput(machine, pid, tty);
        this.#introduce(pid);
      },
      output: (data) => sink.output(data),
      closed: (error, end) => this.#closed(error, end),
    });
  }

  get pid(): string {
    return this.#input?.pid ?? '';
  }

  /** @throws {SandboxError} before it is known which process it is */
  get input(): E2bInput {
    if (this.#input === undefined) throw closedBeforeExit().with({ effect: 'none' });
    return this.#input;
  }

  /** While it is, its pid cannot be another's. */
  get isOpen(): boolean {
    return this.#stream.isOpen;
  }

  /** Whether the service said that it has ended. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Starts or joins it. Resolves when the service said which process it is. */
  async open(method: string, message: JsonObject, deadline: Deadline, reach?: Pick<Reach, 'wake'>): Promise<void> {
    await this.#stream.open(method, message, deadline, reach);
    await deadline.race(this.#introduced, 'unknown');
  }

  write(data: Uint8Array): Promise<void> {
    return this.input.write(data);
  }

  closeStdin(): Promise<void> {
    return this.input.closeStdin();
  }

  resize(size: TerminalSize): Promise<void> {
    return this.input.resize(size);
  }

  close(): void {
    this.#stop();
    this.#stream.close();
  }

  /** As `close`, when its output has said that it ends. */
  closeSoon(): void {
    this.#stop();
    this.#stream.closeSoon();
  }

  #stop(): void {
    this.#input?.close();
    this.#fail(closedBeforeExit());
  }

  #closed(error: SandboxError, end: JsonObject | undefined): void {
    this.#hasEnded = end !== undefined;
    this.#fail(error);
    this.#sink.closed(error, end && exitCodeOf(end));
  }
}
