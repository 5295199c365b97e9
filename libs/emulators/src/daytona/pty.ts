import type { Exit } from '#libs/contract/core';
import type { Channel } from '../kit/channel.js';
import type { EmulatedProcess } from '../kit/emulated-process.js';
import type { Machine } from './machine.js';
import { directoryOf, environmentOf } from './shell.js';

/** How a terminal is asked for. */
export interface PtyRequest {
  readonly id: string;
  readonly cwd?: string;
  readonly envs: Readonly<Record<string, string>>;
  readonly cols: number;
  readonly rows: number;
}

/** Bytes that may wait for a client; one that falls behind is dropped. */
const FULL = 1024 * 1024;

/** A login shell on a terminal. Whoever connects sees what comes from there on. */
export class Pty {
  readonly createdAt = new Date();
  /** With whether it asked for a message about the exit. */
  readonly #clients = new Map<Channel, boolean>();
  #process: EmulatedProcess | undefined;
  #ended = false;
  #cols: number;
  #rows: number;

  constructor(
    readonly request: PtyRequest,
    private readonly machine: Machine,
    private readonly over: () => void,
  ) {
    this.#cols = request.cols;
    this.#rows = request.rows;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  async start(): Promise<void> {
    const { shell } = this.machine;
    const { cwd, envs, cols, rows } = this.request;
    const directory = await directoryOf(this.machine, cwd);
    if (directory === undefined) throw new Error(`chdir ${cwd}: no such file or directory`);
    const started = await this.machine.run(
      {
        cmd: shell,
        args: ['-i', '-l'],
        directory,
        env: { ...environmentOf(this.machine, envs), TERM: 'xterm-256color' },
        terminal: { cols, rows },
      },
      { output: (_, bytes) => this.#output(bytes), ended: (exit) => this.#end(exit) },
    );
    if ('failed' in started) throw new Error(started.failed.startError ?? 'the shell could not be started');
    this.#process = started;
  }

  /** @param exitControl whether it is told of the exit in a message too */
  connect(channel: Channel, exitControl: boolean): void {
    if (this.#ended) return void channel.close(1011);
    void channel.send(JSON.stringify({ type: 'control', status: 'connected' }));
    this.#clients.set(channel, exitControl);
    channel.onMessage(({ data }) => void this.#process?.write(data));
    void channel.whenClosed.then(() => this.#clients.delete(channel));
    return undefined;
  }

  resize(cols: number, rows: number): void {
    this.#cols = cols;
    this.#rows = rows;
    this.#process?.resize(cols, rows);
  }

  /** Kills what runs on it. */
  async kill(): Promise<void> {
    this.#end({ exitCode: 137, signal: 'SIGKILL' });
    await this.#process?.stop({ signal: 'SIGKILL', graceMs: 0 });
  }

  /** Its sandbox goes down: connections break. */
  drop(): void {
    this.#ended = true;
    for (const channel of this.#clients.keys()) channel.terminate();
  }

  show(): Readonly<Record<string, unknown>> {
    const { id, cwd, envs } = this.request;
    return {
      id,
      cwd: cwd ?? this.machine.files.homeName,
      envs,
      cols: this.#cols,
      rows: this.#rows,
      createdAt: this.createdAt.toISOString(),
      active: !this.#ended,
      lazyStart: false,
    };
  }

  #output(bytes: Buffer): void {
    for (const channel of this.#clients.keys()) {
      void channel.send(bytes);
      if (channel.queuedBytes <= FULL) continue;
      this.#clients.delete(channel);
      void channel.close(1008, 'slow client');
    }
  }

  #end(exit: Exit): void {
    if (this.#ended) return;
    this.#ended = true;
    const reason = exitReason(exit);
    const told = { exitCode: exit.exitCode, ...(reason && { exitReason: reason }) };
    for (const [channel, exitControl] of this.#clients) {
      if (exitControl) void channel.send(JSON.stringify({ type: 'control', status: 'exited', ...told }));
      void channel.close(exit.exitCode === 0 ? 1000 : 1011, JSON.stringify(told));
    }
    this.over();
  }
}

function exitReason({ exitCode, signal }: Exit): string | undefined {
  if (exitCode === 0) return undefined;
  if (exitCode === 130) return 'Ctrl+C';
  if (signal === 'SIGKILL' || signal === 'SIGTERM') return signal;
  return signal ? `signal ${exitCode - 128}` : 'non-zero exit';
}
