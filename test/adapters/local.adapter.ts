import { isUtf8 } from 'node:buffer';
import { randomUUID } from 'node:crypto';
import { createWriteStream, mkdirSync, renameSync, statSync, type Stats } from 'node:fs';
import { chmod, lstat, mkdir, readFile, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { constants } from 'node:os';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import {
  CommandStream,
  SandboxAdapter,
  SandboxError,
  StreamingCommand,
  collectExec,
  invalidArgument,
  sandboxHandle,
  type CallOptions,
  type CommandChannel,
  type ExecRequest,
  type ExecResult,
  type FileEntry,
  type FileStat,
  type ProcessRequest,
  type SandboxCapability,
  type SandboxCommand,
  type SandboxHandle,
  type SandboxInfo,
  type SandboxTraits,
  type SpawnRequest,
  type WriteFileRequest,
} from 'nestjs-sandbox/contract';
import { errnoOf, failure, startFailure } from './local.errors.js';
import { LocalProcess } from './local.process.js';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
/** Output that waits for its reader before the process is held back. */
const WINDOW_BYTES = 256 * 1024;
/** Between TERM and KILL. */
const GRACE_MS = 2_000;
const EXIT_WAIT_MS = 100;

/** Where a {@link LocalAdapter} keeps its sandboxes. A class, so that it can be its own token. */
export class LocalOptions {
  /** An absolute path to a directory that exists and holds nothing else. */
  readonly root: string;

  constructor({ root }: { readonly root: string }) {
    if (!isAbsolute(root)) throw invalidArgument('root: expected an absolute path');
    this.root = root;
  }
}

/**
 * Sandboxes on this machine: a directory each, the home of its commands. They are apart and not isolated: a command can
 * do whatever this process can. What leaves its process group (`setsid`), or outlives this process, is not found again.
 */
export class LocalAdapter extends SandboxAdapter {
  override readonly capabilities: ReadonlySet<SandboxCapability> = new Set<SandboxCapability>(['files']);

  override readonly traits: SandboxTraits = {
    sessionsOnSuspend: 'either',
    parks: 'on_request',
    atomicWrites: true,
    listing: 'account',
    exactIncarnations: true,
  };

  readonly #root: string;
  /** What was started in each sandbox and was not yet seen to be gone. */
  readonly #processes = new Map<string, Set<LocalProcess>>();

  constructor({ root }: LocalOptions) {
    super('local');
    this.#root = root;
  }

  protected override checkName(name: string): void {
    if (!NAME.test(name)) throw invalidArgument(`name: expected ${NAME.source}`);
  }

  /** @throws {SandboxError} `not_found` only where the root is there and the sandbox is not */
  async #home({ name, instanceId }: SandboxHandle): Promise<string> {
    const home = join(this.#root, name);
    if (instanceId === undefined && (await isDirectory(home))) return home;
    if (await isDirectory(this.#root)) throw new SandboxError('not_found', { message: `there is no sandbox ${name}` });
    throw new SandboxError('unavailable', { effect: 'none', message: 'the root is not there' });
  }

  protected override async doCreate(name: string): Promise<SandboxHandle> {
    try {
      await mkdir(join(this.#root, name), { mode: 0o700 });
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw failure(error, 'none');
    }
    return sandboxHandle(this.provider, name);
  }

  protected override async doGet(handle: SandboxHandle): Promise<SandboxInfo> {
    return { status: 'running', raw: { home: await this.#home(handle) } };
  }

  protected override async doListAllNames(): Promise<string[]> {
    try {
      const entries = await readdir(this.#root, { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory() && NAME.test(entry.name)).map(({ name }) => name);
    } catch (error) {
      throw failure(error, 'none');
    }
  }

  protected override async doDestroy({ name, instanceId }: SandboxHandle): Promise<void> {
    // Nobody got such a handle here, so that incarnation is not here.
    if (instanceId !== undefined) return;
    // In the turn of the move: what is started after it belongs to another sandbox of that name.
    const processes = [...(this.#processes.get(name) ?? [])];
    try {
      renameSync(join(this.#root, name), join(this.#root, `${name}~${randomUUID()}`));
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw failure(error, 'none');
    }
    const gone = await Promise.all(processes.map((one) => one.stop(GRACE_MS)));
    if (gone.includes(false)) {
      throw new SandboxError('unavailable', { message: 'not all of its processes were seen to be gone' });
    }
    try {
      // All of its remains: an earlier attempt may have failed here.
      const remains = (await readdir(this.#root)).filter((entry) => entry.startsWith(`${name}~`));
      await Promise.all(remains.map((entry) => rm(join(this.#root, entry), { recursive: true, force: true })));
    } catch (error) {
      throw failure(error, 'unknown');
    }
    this.#forgetGone(name);
  }

  #remember(name: string, process: LocalProcess): void {
    this.#forgetGone(name);
    this.#processes.set(name, (this.#processes.get(name) ?? new Set()).add(process));
  }

  #forgetGone(name: string): void {
    const known = this.#processes.get(name);
    for (const one of known ?? []) if (!one.signal(0)) known?.delete(one);
    if (known?.size === 0) this.#processes.delete(name);
  }

  protected override async doWriteFile(handle: SandboxHandle, request: WriteFileRequest): Promise<void> {
    const { path, content, mode, signal } = request;
    const home = await this.#home(handle);
    const given = resolve(home, path);
    const target = await realpath(given).catch(() => given);
    const part = join(dirname(target), `.${randomUUID()}`);
    try {
      // In one turn: below a sandbox that has gone meanwhile, the parents of the file would make a new one.
      statSync(home);
      mkdirSync(dirname(target), { recursive: true });
      const old = await stat(target).catch(() => undefined);
      await pipeline(streamOf(content), createWriteStream(part, { flags: 'wx' }), { signal });
      await chmod(part, mode ?? (old === undefined ? 0o644 : old.mode & 0o777));
      await rename(part, target);
    } catch (error) {
      await rm(part, { force: true }).catch(() => {});
      if (signal?.aborted || error instanceof SandboxError) throw error;
      await this.#home(handle);
      const message = `the file was not written: ${errnoOf(error) ?? 'its content failed'}`;
      throw new SandboxError('write_failed', { message, cause: error });
    }
  }

  protected override doReadFile(handle: SandboxHandle, path: string, { signal }: CallOptions): Promise<Uint8Array> {
    return this.#look(handle, path, async (target) => {
      if (!(await stat(target)).isFile()) throw new SandboxError('invalid', { message: 'this is no file' });
      return readFile(target, { signal });
    });
  }

  protected override doStatFile(handle: SandboxHandle, path: string): Promise<FileStat> {
    return this.#look(handle, path, async (target) => fileStat(await lstat(target)));
  }

  protected override doListFiles(handle: SandboxHandle, path: string): Promise<FileEntry[]> {
    return this.#look(handle, path, async (target) => {
      const entries: FileEntry[] = [];
      for (const raw of await readdir(target, { encoding: 'buffer' })) {
        // Without it, or with another name, the list would look whole.
        if (!isUtf8(raw)) throw new SandboxError('truncated', { message: 'a name in this directory is not UTF-8' });
        const name = raw.toString();
        const stats = await lstat(join(target, name)).catch((error: unknown) => {
          if (errnoOf(error) !== 'ENOENT') throw error;
        });
        if (stats) entries.push({ name, ...fileStat(stats) });
      }
      return entries;
    });
  }

  async #look<T>(handle: SandboxHandle, path: string, look: (target: string) => Promise<T>): Promise<T> {
    const target = resolve(await this.#home(handle), path);
    try {
      return await look(target);
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === 'ENOENT') throw new SandboxError('not_found', { message: 'there is no such file' });
      if (errno === 'ENOTDIR') throw new SandboxError('invalid', { message: 'this is no directory' });
      // The others are the SandboxErrors from above, and the abort.
      throw errno === undefined ? error : failure(error, 'none');
    }
  }

  protected override doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
    const starting = this.#start(handle, request, {
      stdin: request.stdin !== undefined,
      merged: request.stderrToStdout,
      detachable: false,
    });
    const command = starting.then((started) => started.command);
    const stop = async (): Promise<{ confirmed: boolean }> => {
      const { process } = await starting;
      return { confirmed: process === undefined || (await process.stop(GRACE_MS)) };
    };
    return collectExec(command, { ...request, stop });
  }

  protected override async doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
    return (await this.#start(handle, request, { ...request, merged: false })).command;
  }

  /** One that cannot be started is a command as well: it has no process, and has ended. */
  async #start(
    handle: SandboxHandle,
    { cmd, args, env, dir = '.' }: ProcessRequest,
    { stdin, merged, detachable }: { stdin: boolean; merged: boolean; detachable: boolean },
  ): Promise<{ command: SandboxCommand; process: LocalProcess | undefined }> {
    const home = await this.#home(handle);
    const directory = resolve(home, dir);
    const stream = new CommandStream();
    const written = { stdout: 0, stderr: 0 };
    let process: LocalProcess | undefined;
    try {
      process = await LocalProcess.start(
        { cmd, args, env: environment(home, env), directory, stdin, merged },
        {
          data(type, data) {
            stream.frame({ type, data, offset: written[type] });
            written[type] += data.byteLength;
            if (stream.queuedBytes >= WINDOW_BYTES) process?.pause();
          },
          exit(code, signal) {
            if (signal === null) stream.frame({ type: 'exit', exitCode: code as number });
            else stream.frame({ type: 'exit', exitCode: 128 + constants.signals[signal], signal });
          },
          failed(cause) {
            stream.error(new SandboxError('unavailable', { message: 'a part of the output was lost', cause }));
          },
        },
      );
      this.#remember(handle.name, process);
    } catch (error) {
      await this.#home(handle);
      if (!(await isDirectory(directory))) throw new SandboxError('invalid', { detail: 'no_such_directory' });
      stream.frame({ type: 'exit', ...startFailure(error) });
    }
    const channel = process === undefined ? NOBODY : channelTo(process, stream, detachable);
    const command = new StreamingCommand({ provider: this.provider, handle, stream, channel, stdin, tty: false });
    return { command, process };
  }
}

function channelTo(process: LocalProcess, stream: CommandStream, detachable: boolean): CommandChannel {
  const stdin = process.stdin as Writable;
  return {
    taken() {
      if (stream.queuedBytes < WINDOW_BYTES) process.resume();
    },
    async write(data) {
      try {
        await new Promise<void>((taken, failed) => {
          stdin.write(data, (error) => (error ? failed(error) : taken()));
        });
      } catch (cause) {
        // Whoever ends has closed its stdin a moment before its exit is told.
        await Promise.race([stream.exit.catch(() => {}), pause(EXIT_WAIT_MS, undefined, { ref: false })]);
        const code = stream.end === undefined ? 'write_failed' : 'command_exited';
        throw new SandboxError(code, { effect: 'unknown', cause });
      }
    },
    async closeStdin() {
      await new Promise<void>((closed) => {
        stdin.end(() => closed());
      });
    },
    async stop() {
      process.resume();
      if (!detachable) process.stop(GRACE_MS).catch(() => {});
    },
  };
}

/** To a command that has ended nothing is said. */
const NOBODY: CommandChannel = { taken() {}, async write() {}, async closeStdin() {}, async stop() {} };

/** Without what this process has in its own: there may be secrets in it. */
function environment(home: string, env: ProcessRequest['env']): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: home, ...Object.fromEntries(env) };
}

/** A stream that an abort ends also while the next piece is waited for: `Readable.from` lets it wait on Node 22 and 24. */
function streamOf(content: WriteFileRequest['content']): Readable {
  if (content instanceof Uint8Array) return Readable.from([content]);
  const source = content[Symbol.asyncIterator]();
  return new Readable({
    objectMode: true,
    highWaterMark: 1,
    read() {
      source.next().then(
        ({ done, value }) => this.push(done ? null : value),
        (error: Error) => this.destroy(error),
      );
    },
    destroy(error, destroyed) {
      letGo(source);
      destroyed(error);
    },
  });
}

/** Not waited for: that happens once the piece that it was asked for has come. */
function letGo(source: AsyncIterator<Uint8Array>): void {
  source.return?.().catch(() => {});
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR') return false;
    throw failure(error, 'none');
  }
}

function fileStat(stats: Stats): FileStat {
  const { size, mode, mtime } = stats;
  const kinds = { file: stats.isFile(), directory: stats.isDirectory(), symlink: stats.isSymbolicLink(), other: true };
  const type = (Object.keys(kinds) as (keyof typeof kinds)[]).find((kind) => kinds[kind]) ?? 'other';
  return { type, size, mode: mode & 0o777, modifiedAt: mtime };
}
