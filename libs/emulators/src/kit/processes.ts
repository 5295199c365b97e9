import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import type { Exit } from '#libs/contract/core';
import {
  DIRECTORY_MARKER,
  FifoPool,
  findProgram,
  processTable,
  SESSION_MARKER,
  signalProcess,
  startChild,
  stopProcesses,
  type ProcessEntry,
} from '#libs/process';
import type { EmulatedProcess, ProcessEvents, ProcessSpec } from './emulated-process.js';
import { PipeProcess } from './pipe-process.js';
import { TerminalProcess } from './terminal-process.js';

/** A program that could not be started: 127 not found, 126 not executable. */
export interface StartFailure {
  readonly failed: Exit;
}

/** Starts processes for an emulator and ends them with it. */
export class Processes {
  readonly #fifos: FifoPool;
  /** Those that run, or whose pipes something still holds, with their sandboxes. */
  readonly #open = new Map<PipeProcess | TerminalProcess, string>();
  /** Those that are being started, with their sandboxes. */
  readonly #starting = new Map<Promise<unknown>, string>();
  readonly #owners = new Set<string>();

  private constructor(directory: string) {
    this.#fifos = new FifoPool(directory);
  }

  /** @param directory where pipes have their names for a moment */
  static async open(directory: string): Promise<Processes> {
    const processes = new Processes(directory);
    await processes.#fifos.fill();
    return processes;
  }

  /**
   * @param owner the directory of the sandbox it belongs to
   * @throws {SandboxError} `invalid` / `argument_list_too_long`, `no_such_directory`, `argument`; `unavailable`
   */
  async start(owner: string, spec: ProcessSpec, events: ProcessEvents): Promise<EmulatedProcess | StartFailure> {
    const starting = this.#start(owner, spec, events);
    this.#starting.set(starting, owner);
    return await starting.finally(() => this.#starting.delete(starting));
  }

  /** The executable that would be run, and its arguments, in one line. */
  resolved({ cmd, args, directory, env, searchPath }: ProcessSpec): string {
    const program = findProgram(cmd, directory, searchPath ?? env['PATH'] ?? '');
    return ['path' in program ? program.path : cmd, ...args].join(' ');
  }

  /** Sends a signal to every process of a sandbox, those that left their group included. */
  async signalAll(owner: string, signal: NodeJS.Signals): Promise<void> {
    for (const { pid, directoryMarker, zombie } of await processTable()) {
      if (directoryMarker === owner && !zombie) signalProcess(pid, signal);
    }
  }

  /** Kills every process of a sandbox, those that are being started included. @returns whether nothing is left */
  async stopAll(owner: string): Promise<boolean> {
    const starting = [...this.#starting].filter(([, of]) => of === owner).map(([process]) => process);
    await Promise.allSettled(starting);
    const mine = [...this.#open].filter(([, of]) => of === owner).map(([process]) => process);
    const leads = (pid: number) => mine.some((process) => process.pid === pid && !process.exit);
    const scope = {
      groups: mine.map((process) => process.group),
      // A leader that shares the group of this process may have cleared its environment.
      marked: ({ pid, directoryMarker }: ProcessEntry) => directoryMarker === owner || leads(pid),
    };
    const gone = await stopProcesses(scope, { signal: 'SIGKILL', graceMs: 0 });
    for (const process of mine) {
      process.release();
      this.#open.delete(process);
    }
    return gone;
  }

  async close(): Promise<void> {
    for (const owner of this.#owners) await this.stopAll(owner);
    await this.#fifos.close();
  }

  async #start(owner: string, spec: ProcessSpec, events: ProcessEvents): Promise<EmulatedProcess | StartFailure> {
    const id = `e-${randomBytes(12).toString('hex')}`;
    const env: NodeJS.ProcessEnv = { ...spec.env, [SESSION_MARKER]: id, [DIRECTORY_MARKER]: owner };
    const program = findProgram(spec.cmd, spec.directory, spec.searchPath ?? env['PATH'] ?? '');
    if ('failed' in program) return program;
    this.#owners.add(owner);
    const marked = { ...spec, env };
    const { terminal } = spec;
    const started = terminal
      ? await TerminalProcess.start(program.path, { ...marked, terminal }, id, events)
      : await this.#startPiped(program.path, marked, id, events);
    if (!('failed' in started)) {
      this.#open.set(started, owner);
      void started.leaderExit.then(() => this.#forgetQuiet());
    }
    return started;
  }

  async #startPiped(
    program: string,
    spec: ProcessSpec,
    id: string,
    events: ProcessEvents,
  ): Promise<PipeProcess | StartFailure> {
    const names = await this.#fifos.take((spec.stderrToStdout ? 1 : 2) + (spec.stdin ? 1 : 0));
    const [stdin, ...fifos] = spec.stdin ? names : [undefined, ...names];
    try {
      const child = await startChild({ ...spec, program, stdin, fifos: fifos as string[] });
      if (!('failed' in child)) return new PipeProcess(child, id, events, spec.outputEnd);
      for (const name of names) rmSync(name, { force: true });
      return child;
    } catch (error) {
      for (const name of names) rmSync(name, { force: true });
      throw error;
    }
  }

  #forgetQuiet(): void {
    for (const process of this.#open.keys()) if (process.quiet) this.#open.delete(process);
  }
}
