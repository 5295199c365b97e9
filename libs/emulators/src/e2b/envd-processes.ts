import { setTimeout as delay } from 'node:timers/promises';
import { stat } from 'node:fs/promises';
import { SandboxError } from '#libs/contract/core';
import type { Processes } from '../kit/processes.js';
import { SEARCH_PATH } from '../kit/search-path.js';
import { ConnectFailure, type Message } from './connect-protocol.js';
import { EnvdProcess } from './envd-process.js';
import type { FreezableTimers } from './freezable-timers.js';
import type { E2bSettings } from './options.js';
import type { StartRequest } from './start-request.js';
import type { UserFiles } from './user-files.js';

const EXIT_MEMORY_MS = 30_000;
/** Variables that name a directory of the sandbox: their values are made to lie there on this machine too. */
const DIRECTORIES: ReadonlySet<string> = new Set(['HOME', 'PWD', 'TMPDIR']);

/** What the processes of a sandbox need of it. */
export interface ProcessesHost {
  readonly id: string;
  readonly templateId: string;
  readonly settings: E2bSettings;
  readonly clock: FreezableTimers;
  readonly envVars: Readonly<Record<string, string>>;
}

/** A process that has ended and is remembered. */
export interface RememberedExit {
  readonly pid: number;
  readonly tag: string | undefined;
  readonly end: Message;
}

/** The processes that the envd of one sandbox knows. */
export class EnvdProcesses {
  readonly #live = new Map<number, EnvdProcess>();
  readonly #exits = new Map<number, RememberedExit>();

  constructor(
    private readonly host: ProcessesHost,
    /** Of the sandbox, on this machine. */
    private readonly directory: string,
    private readonly processes: Processes,
  ) {}

  get live(): readonly EnvdProcess[] {
    return [...this.#live.values()];
  }

  /**
   * The process runs when this resolves; nothing of it is delivered before it is opened.
   *
   * @throws {ConnectFailure} `invalid_argument`
   */
  async start(request: StartRequest, files: UserFiles, closing: AbortSignal): Promise<EnvdProcess> {
    const { settings, clock } = this.host;
    const directory = await this.#directory(request, files);
    const ended = (process: EnvdProcess) => this.#ended(process);
    const process = new EnvdProcess(request, { settings, clock, ended });
    const cmd = request.cmd.startsWith('/') ? files.inHome(request.cmd) : request.cmd;
    const spec = {
      cmd: '/bin/sh',
      // A program that is not there is an exit 127, as it is with envd.
      args: ['-c', 'exec "$@"', 'sh', cmd, ...request.args],
      directory,
      env: this.#environment(request, files),
      searchPath: SEARCH_PATH,
      stdin: request.stdin,
      ownGroup: false,
      outputEnd: 'eof' as const,
      ...(request.pty && { terminal: request.pty }),
    };
    const starting = files.disk.change(() => this.processes.start(this.directory, spec, process));
    const started = await starting.catch((error: unknown) => {
      if (error instanceof SandboxError) throw new ConnectFailure('invalid_argument', error.message);
      throw error;
    });
    if ('failed' in started) throw new ConnectFailure('invalid_argument', started.failed.startError ?? 'no shell');
    process.started(started);
    if (settings.startDelayMs > 0) await delay(settings.startDelayMs, undefined, { signal: closing });
    this.#exits.delete(process.pid);
    this.#live.set(process.pid, process);
    return process;
  }

  /** @throws {ConnectFailure} `not_found`, `invalid_argument` */
  find(selector: unknown): EnvdProcess {
    const { pid, tag } = Object(selector) as Message;
    if (typeof pid === 'number') {
      const found = this.#live.get(pid);
      if (found) return found;
      throw new ConnectFailure('not_found', `process with pid ${pid} not found`);
    }
    if (typeof tag !== 'string') throw new ConnectFailure('invalid_argument', 'a process selector is required');
    const found = this.#byTag(tag);
    if (found) return found;
    throw new ConnectFailure('not_found', `process with tag ${tag} not found`);
  }

  /** One that has ended, where that is remembered. */
  remembered(selector: unknown): RememberedExit | undefined {
    const { pid, tag } = Object(selector) as Message;
    return [...this.#exits.values()].find((exit) => (pid === undefined ? exit.tag === tag : exit.pid === pid));
  }

  freeze(): void {
    for (const process of this.#live.values()) process.freeze();
  }

  thaw(): void {
    for (const process of this.#live.values()) process.thaw();
  }

  /** All of them are gone. */
  forget(): void {
    for (const process of this.#live.values()) process.drop();
    this.#live.clear();
    this.#exits.clear();
  }

  /** The walk of envd, which ends at the first tag that differs; of equal ones the last that was visited wins. */
  #byTag(tag: string): EnvdProcess | undefined {
    const { tagLookup } = this.host.settings.alternatives;
    const tagged = this.live.filter(({ request }) => request.tag !== undefined);
    const others = tagged.filter(({ request }) => request.tag !== tag);
    const mine = tagged.filter(({ request }) => request.tag === tag);
    if (tagLookup === 'exact' || others.length === 0) return mine.at(-1);
    if (tagLookup === 'fails') return undefined;
    let found: EnvdProcess | undefined;
    for (const process of shuffled(tagged)) {
      if (process.request.tag !== tag) return found;
      found = process;
    }
    return found;
  }

  #ended(process: EnvdProcess): void {
    const { pid, end, request } = process;
    this.#live.delete(pid);
    if (!this.host.settings.alternatives.exitMemory) return;
    const exit = { pid, tag: request.tag, end: end! };
    this.#exits.set(pid, exit);
    this.host.clock.after(EXIT_MEMORY_MS, () => {
      if (this.#exits.get(pid) === exit) this.#exits.delete(pid);
    });
  }

  async #directory({ cwd }: StartRequest, files: UserFiles): Promise<string> {
    const directory = await files.resolve(cwd);
    const there = await stat(directory).then(
      (stats) => stats.isDirectory(),
      () => false,
    );
    if (!there) throw new ConnectFailure('invalid_argument', `cwd '${cwd}' does not exist`);
    return directory;
  }

  /** Nothing is inherited, and besides TMPDIR there is nothing that envd does not set. */
  #environment({ envs }: StartRequest, files: UserFiles): NodeJS.ProcessEnv {
    const { id, templateId, envVars } = this.host;
    const env: NodeJS.ProcessEnv = {
      PATH: SEARCH_PATH,
      HOME: files.home,
      USER: files.user,
      LOGNAME: files.user,
      TMPDIR: files.disk.tmp,
      ...envVars,
      E2B_SANDBOX: 'true',
      E2B_SANDBOX_ID: id,
      E2B_TEMPLATE_ID: templateId,
      ...envs,
    };
    for (const name of DIRECTORIES) {
      const value = env[name];
      if (value?.startsWith('/')) env[name] = files.disk.locate(value);
    }
    return env;
  }
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ item }) => item);
}
