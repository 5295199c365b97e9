import { closeSync, constants, openSync } from 'node:fs';
import { constants as osConstants } from 'node:os';
import type { Writable } from 'node:stream';
import type { IPty } from '@lydell/node-pty';
import type { Exit } from '#libs/contract/core';
import { ProcessGroup, signalProcess, stopProcesses } from '#libs/process';
import type { EmulatedProcess, ProcessEvents, ProcessSpec } from './emulated-process.js';

/** How often a terminal that is not read looks whether its process has ended. */
const LOOK_MS = 50;

/** A process on a terminal of its own. */
export class TerminalProcess implements EmulatedProcess {
  readonly pid: number;
  readonly #pty: IPty;
  readonly group: ProcessGroup;
  readonly #slave: number;
  #look: NodeJS.Timeout | undefined;
  #exit: Exit | undefined;

  private constructor(
    pty: IPty,
    private readonly id: string,
    private readonly events: ProcessEvents,
  ) {
    this.#pty = pty;
    this.pid = pty.pid;
    this.group = new ProcessGroup(pty.pid, id);
    // Node 20 takes the hang-up after the last close for the end and loses what is still to be read: held open, the
    // terminal has no last close before its output was read.
    const { ptsName } = pty as unknown as { readonly ptsName: string };
    this.#slave = openSync(ptsName, constants.O_RDWR | constants.O_NOCTTY);
    // Without an encoding the data are bytes, whatever the type says.
    pty.onData((data) => this.events.output('stdout', data as unknown as Buffer));
    pty.onExit(({ exitCode, signal }) => this.#exited(exitCode, signal));
  }

  /** Throws what kept the terminal from being made. */
  static async start(
    program: string,
    spec: ProcessSpec & Required<Pick<ProcessSpec, 'terminal'>>,
    id: string,
    events: ProcessEvents,
  ): Promise<TerminalProcess> {
    const { spawn } = await import('@lydell/node-pty');
    const { cols, rows } = spec.terminal;
    const env = { TERM: 'xterm-256color', ...spec.env };
    const pty = spawn(program, [...spec.args], { cwd: spec.directory, env, encoding: null, cols, rows });
    return new TerminalProcess(pty, id, events);
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
    if (this.#exit) return false;
    // The package's own `write` does not tell when the terminal took the bytes.
    const { _socket: socket } = this.#pty as unknown as { readonly _socket: Writable };
    const taken = new Promise<void>((resolve) => socket.write(data, () => resolve()));
    await Promise.race([taken, this.leaderExit]);
    return !this.#exit;
  }

  async closeStdin(): Promise<void> {}

  pause(): void {
    if (this.#exit) return;
    this.#pty.pause();
    this.#look ??= setInterval(() => {
      if (!this.#runs()) this.resume();
    }, LOOK_MS);
  }

  resume(): void {
    clearInterval(this.#look);
    this.#look = undefined;
    if (!this.#exit) this.#pty.resume();
  }

  resize(cols: number, rows: number): void {
    if (!this.#exit && cols > 0 && rows > 0) this.#pty.resize(cols, rows);
  }

  signal(signal: NodeJS.Signals): void {
    // Right after its fork it leads no group yet, and has no children either.
    if (this.#exit || this.#leads()) this.group.signal(signal);
    else this.signalLeader(signal);
  }

  signalLeader(signal: NodeJS.Signals): boolean {
    if (this.#exit) return false;
    signalProcess(this.pid, signal);
    return true;
  }

  hurry(): void {}

  async stop(how: { readonly signal?: NodeJS.Signals; readonly graceMs: number }): Promise<boolean> {
    this.resume();
    const scope = {
      groups: [this.group],
      marked: ({ sessionMarker }: { sessionMarker?: string }) => sessionMarker === this.id,
    };
    return await stopProcesses(scope, how);
  }

  /** Whether nothing of it runs any more. */
  get quiet(): boolean {
    return !this.group.leaderRunning && !this.group.look();
  }

  release(): void {
    clearInterval(this.#look);
  }

  #runs(): boolean {
    return exists(this.pid);
  }

  #leads(): boolean {
    return exists(-this.pid);
  }

  #exited(exitCode: number, signal: number | undefined): void {
    clearInterval(this.#look);
    closeSync(this.#slave);
    const name = signal ? nameOf(signal) : undefined;
    const exit: Exit = signal ? { exitCode: 128 + signal, ...(name && { signal: name }) } : { exitCode };
    this.#exit = exit;
    this.group.leaderExited();
    this.events.exited?.(exit);
    this.events.ended(exit);
  }
}

/** Whether there is a process, or for a negative number a group of processes. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function nameOf(number: number): NodeJS.Signals | undefined {
  const entries = Object.entries(osConstants.signals) as [NodeJS.Signals, number][];
  return entries.find(([, value]) => value === number)?.[0];
}
