import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, constants, openSync, readSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The most that a pipe of Linux or macOS can be made to hold. */
const PIPE_BYTES = 1024 * 1024;
const LOOK_EVERY_MS = 20;
/** How long a group has to be gone after KILL. */
const KILL_WAIT_MS = 2_000;

export interface ProcessSpec {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly directory: string;
  /** Open stdin; otherwise the process reads /dev/null. */
  readonly stdin: boolean;
  /** Write stderr to stdout, in the order in which the process writes. */
  readonly merged: boolean;
}

/** What happens to a process. Nothing is called before `LocalProcess.start` has resolved. */
export interface ProcessListener {
  data(stream: 'stdout' | 'stderr', data: Buffer): void;
  /** Once, after everything that the process itself has written. */
  exit(code: number | null, signal: NodeJS.Signals | null): void;
  /** Output could not be read, so some of it is missing. */
  failed(cause: Error): void;
}

/** A running process, the leader of a group of its own. */
export class LocalProcess {
  readonly stdin: ChildProcess['stdin'];
  readonly #group: number;
  readonly #pipes: readonly OutputPipe[];
  #leaderRuns = true;
  #empty = false;

  private constructor(child: ChildProcess, pipes: readonly OutputPipe[], listener: ProcessListener) {
    this.stdin = child.stdin;
    // A write that fails says so to its callback as well.
    this.stdin?.on('error', () => {});
    this.#group = child.pid as number;
    this.#pipes = pipes;
    for (const pipe of pipes) pipe.listen(listener);
    child.once('exit', (code, signal) => {
      this.#leaderRuns = false;
      this.signal(0);
      for (const pipe of pipes) pipe.finish(listener);
      listener.exit(code, signal);
    });
  }

  /** @throws the error of the system when it could not be started: nothing ran, and nothing is left open */
  static async start(spec: ProcessSpec, listener: ProcessListener): Promise<LocalProcess> {
    const pipes: OutputPipe[] = [];
    try {
      for (const stream of spec.merged ? (['stdout'] as const) : (['stdout', 'stderr'] as const)) {
        pipes.push(await OutputPipe.open(stream));
      }
      const [stdout, stderr = stdout] = pipes as [OutputPipe, OutputPipe?];
      const child = spawn(spec.cmd, spec.args, {
        cwd: spec.directory,
        env: spec.env,
        stdio: [spec.stdin ? 'pipe' : 'ignore', stdout.writeEnd, stderr.writeEnd],
        detached: true,
      });
      if (child.pid === undefined) throw (await once(child, 'error'))[0];
      return new LocalProcess(child, pipes, listener);
    } catch (error) {
      for (const { socket } of pipes) socket.destroy();
      throw error;
    } finally {
      for (const { writeEnd } of pipes) closeSync(writeEnd);
    }
  }

  /** Read no more, so that the process waits once the pipe is full. */
  pause(): void {
    for (const { socket } of this.#pipes) socket.pause();
  }

  resume(): void {
    for (const { socket } of this.#pipes) socket.resume();
  }

  /** Sends it to the group, or asks with 0 whether there is one. One that was seen empty is never signalled again. */
  signal(signal: NodeJS.Signals | 0): boolean {
    if (this.#empty) return false;
    try {
      process.kill(-this.#group, signal);
    } catch (error) {
      this.#empty = !this.#leaderRuns && (error as NodeJS.ErrnoException).code === 'ESRCH';
    }
    return !this.#empty;
  }

  /** TERM, and KILL `graceMs` later. @returns whether the whole group was seen to be gone */
  async stop(graceMs: number): Promise<boolean> {
    this.signal('SIGTERM');
    this.signal('SIGCONT');
    if (await this.#gone(graceMs)) return true;
    this.signal('SIGKILL');
    return this.#gone(KILL_WAIT_MS);
  }

  async #gone(withinMs: number): Promise<boolean> {
    const deadlineMs = performance.now() + withinMs;
    for (;;) {
      if (!this.signal(0)) return true;
      this.#empty = !this.#leaderRuns && (await onlyZombies(this.#group));
      if (this.#empty) return true;
      if (performance.now() > deadlineMs) return false;
      await pause(LOOK_EVERY_MS);
    }
  }
}

/** A real pipe, as a shell would make one: Node's own are sockets, which programs cannot open as `/dev/stdout`. */
class OutputPipe {
  readonly socket: Socket;

  private constructor(
    readonly stream: 'stdout' | 'stderr',
    private readonly readEnd: number,
    readonly writeEnd: number,
  ) {
    this.socket = new Socket({ fd: readEnd, writable: false });
  }

  static async open(stream: 'stdout' | 'stderr'): Promise<OutputPipe> {
    const path = join(tmpdir(), `local-${randomUUID()}`);
    const ends: number[] = [];
    try {
      await run('mkfifo', ['-m', '600', path]);
      ends.push(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
      ends.push(openSync(path, constants.O_WRONLY));
      return new OutputPipe(stream, ...(ends as [number, number]));
    } catch (cause) {
      for (const end of ends) closeSync(end);
      // Not the error itself: its ENOENT would be taken for that of the program.
      throw new Error('no pipe could be opened', { cause });
    } finally {
      rmSync(path, { force: true });
    }
  }

  listen(listener: ProcessListener): void {
    this.socket.on('data', (data: Buffer) => listener.data(this.stream, data));
    this.socket.on('error', (cause) => listener.failed(cause));
  }

  /**
   * The leader has exited: all that it wrote is in the socket or in the pipe, and has been told when this returns. What
   * a background process writes from here on is read to nowhere, because a closed pipe would kill it.
   */
  finish(listener: ProcessListener): void {
    const { socket } = this;
    while (socket.read() !== null);
    for (let left = PIPE_BYTES; left > 0 && !socket.destroyed;) {
      const data = this.#read(listener);
      if (data.byteLength === 0) break;
      listener.data(this.stream, data);
      left -= data.byteLength;
    }
    socket.removeAllListeners('data').resume().unref();
  }

  /** What is there; nothing at the end, or while nothing is there. */
  #read(listener: ProcessListener): Buffer {
    const buffer = Buffer.alloc(64 * 1024);
    try {
      return buffer.subarray(0, readSync(this.readEnd, buffer));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') listener.failed(error as Error);
      return buffer.subarray(0, 0);
    }
  }
}

/** A zombie counts for `kill`, but it does nothing any more, and whether somebody reaps it is not ours. */
async function onlyZombies(group: number): Promise<boolean> {
  const { stdout } = await run('ps', ['-A', '-o', 'pgid=', '-o', 'stat=']);
  return !stdout.split('\n').some((line) => {
    const [pgid, state = ''] = line.trim().split(/\s+/);
    return Number(pgid) === group && !state.startsWith('Z');
  });
}
