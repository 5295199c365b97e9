import type { Exit } from '#libs/contract/core';
import {
  exitOf,
  HEADER_BYTES,
  KEEPER_LIMITS,
  OutputEnd,
  OutputPipe,
  ProcessGroup,
  signalProcess,
  StdinQueue,
  stopProcesses,
  type Child,
} from '#libs/process';
import type { EmulatedProcess, OutputStream, ProcessEvents, ProcessSpec } from './emulated-process.js';

/** A process whose stdio are pipes. */
export class PipeProcess implements EmulatedProcess {
  readonly pid: number;
  readonly group: ProcessGroup;
  readonly #stdin: StdinQueue | undefined;
  readonly #stdinPipe: Child['stdin'];
  readonly #pipes: OutputPipe[];
  #exit: Exit | undefined;
  #outputEnd: OutputEnd | undefined;
  #ended = false;
  #hurried: boolean;

  constructor(
    child: Child,
    /** What its processes carry in their environment. */
    private readonly id: string,
    private readonly events: ProcessEvents,
    outputEnd: ProcessSpec['outputEnd'] = 'silence',
  ) {
    this.#hurried = outputEnd === 'silence';
    this.pid = child.pid;
    this.group = new ProcessGroup(child.pid, id);
    child.process.on('error', () => {});
    child.process.once('exit', (code, signal) => this.#exited(exitOf(code, signal)));
    this.#stdinPipe = child.stdin;
    if (child.stdin) this.#stdin = new StdinQueue(child.stdin.stream, this.group.leaderExit);
    this.#pipes = [this.#pipe('stdout', child.stdout)];
    if (child.stderr !== undefined) this.#pipes.push(this.#pipe('stderr', child.stderr));
  }

  get exit(): Exit | undefined {
    return this.#exit;
  }

  get leaderExit(): Promise<void> {
    return this.group.leaderExit;
  }

  async write(data: Uint8Array): Promise<void> {
    await this.tryWrite(data);
  }

  async tryWrite(data: Uint8Array): Promise<boolean> {
    if (!this.#stdin) return false;
    return await this.#stdin.write('next', data).then(
      () => true,
      () => false,
    );
  }

  async closeStdin(): Promise<void> {
    await this.#stdin?.close();
  }

  pause(): void {
    if (!this.#exit || !this.#hurried) for (const pipe of this.#pipes) pipe.pause();
  }

  resume(): void {
    for (const pipe of this.#pipes) pipe.resume();
  }

  resize(): void {}

  signal(signal: NodeJS.Signals): void {
    this.group.signal(signal);
  }

  signalLeader(signal: NodeJS.Signals): boolean {
    if (this.#exit) return false;
    signalProcess(this.pid, signal);
    return true;
  }

  hurry(): void {
    this.#hurried = true;
    if (this.#exit && !this.#outputEnd) this.#awaitEnd(this.#exit);
  }

  async stop(how: { readonly signal?: NodeJS.Signals; readonly graceMs: number }): Promise<boolean> {
    const scope = {
      groups: [this.group],
      marked: ({ sessionMarker }: { sessionMarker?: string }) => sessionMarker === this.id,
    };
    return await stopProcesses(scope, how);
  }

  /** Whether nothing of it runs or holds its pipes any more. */
  get quiet(): boolean {
    return !this.group.leaderRunning && !this.group.look() && this.#pipes.every((pipe) => pipe.ended);
  }

  /** Gives up the pipes: whoever still writes gets SIGPIPE. */
  release(): void {
    this.#stdinPipe?.release();
    for (const pipe of this.#pipes) pipe.destroy();
  }

  #pipe(stream: OutputStream, fd: number): OutputPipe {
    return new OutputPipe(fd, {
      data: (block) => {
        if (this.#ended) return;
        this.#outputEnd?.data(stream, block.length - HEADER_BYTES);
        // The block is only lent.
        this.events.output(stream, Buffer.from(block.subarray(HEADER_BYTES)));
      },
      end: () => {
        if (!this.#pipes.every((pipe) => pipe.ended)) return;
        if (this.#exit && !this.#outputEnd) this.#awaitEnd(this.#exit);
        else this.#outputEnd?.finish();
      },
      error: (error) => process.emitWarning(error),
    });
  }

  #exited(exit: Exit): void {
    this.#exit = exit;
    this.group.leaderExited();
    this.events.exited?.(exit);
    if (this.#hurried || this.#pipes.every((pipe) => pipe.ended)) this.#awaitEnd(exit);
  }

  #awaitEnd(exit: Exit): void {
    // What the leader wrote last was perhaps not read for a while.
    this.resume();
    this.#outputEnd ??= new OutputEnd(KEEPER_LIMITS, () => {
      this.#ended = true;
      this.events.ended(exit);
    });
    if (this.#pipes.every((pipe) => pipe.ended)) this.#outputEnd.finish();
  }
}
