import { SandboxError, type Exit } from '#libs/contract/core';
import type { ProcessSpec } from '../kit/emulated-process.js';
import type { Processes } from '../kit/processes.js';
import type { SandboxDisk } from '../kit/sandbox-disk.js';
import { SEARCH_PATH } from '../kit/search-path.js';
import type { Timers } from '../kit/timers.js';
import { execDirectory, execEnvironment } from './exec-environment.js';
import type { ExecRequest } from './exec-request.js';
import type { SpritesSettings } from './options.js';
import { goingDown } from './refusals.js';
import { Session, type SessionClient } from './session.js';

/** Ended sessions whose ids are still known. */
const MOST_ENDED = 1_000;

/** What the commands of a sprite need of it. */
export interface SessionsHost {
  readonly disk: SandboxDisk;
  readonly settings: SpritesSettings;
  readonly timers: Timers;
  readonly power: { touch(): void };
  readonly environment: Readonly<Record<string, string>> | undefined;
}

/** The commands of one sprite. */
export class Sessions {
  readonly #live = new Map<string, Session>();
  readonly #ended = new Set<string>();
  readonly #clients = new Set<SessionClient>();
  /** How often all of them were gone. */
  #losses = 0;
  #isOver = false;

  constructor(
    private readonly host: SessionsHost,
    private readonly processes: Processes,
  ) {}

  get live(): readonly Session[] {
    return [...this.#live.values()];
  }

  find(id: string): Session | undefined {
    return this.#live.get(id);
  }

  /** Whether a session had this id, which is a pid and may be another's one day. */
  hasEnded(id: string): boolean {
    return this.#ended.has(id);
  }

  /** The process runs when this resolves. @throws {Refusal} 503: the sprite went down meanwhile */
  async start(request: ExecRequest): Promise<Session | { readonly failed: Exit }> {
    const { disk, settings, timers, power } = this.host;
    const directory = await execDirectory(request, disk, settings.alternatives);
    const cmd = request.path ?? request.argv[0]!;
    if (directory === undefined) return failure(`chdir ${request.dir}: no such file or directory`);
    const spec: ProcessSpec = {
      cmd: cmd.startsWith('/home/sprite/') ? disk.locate(cmd) : cmd,
      args: request.argv.slice(1),
      directory,
      env: execEnvironment(request, disk, this.host.environment, settings.alternatives),
      searchPath: SEARCH_PATH,
      stdin: request.stdin,
      ...(request.tty && { terminal: { cols: request.cols, rows: request.rows } }),
    };
    const session: Session = new Session(request, this.processes.resolved(spec), disk.nameOf(directory), settings, {
      touch: () => power.touch(),
      unattended: () =>
        timers.after(request.runAfterDisconnectMs, () => {
          void session.process.stop({ graceMs: 1_000 }).catch(() => {});
        }),
      exited: () => this.#forget(session),
    });
    const losses = this.#losses;
    if (this.#isOver) throw goingDown();
    try {
      const started = await this.processes.start(disk.directory, spec, session);
      if ('failed' in started) return started;
      if (losses !== this.#losses) {
        await started.stop({ signal: 'SIGKILL', graceMs: 0 });
        throw goingDown();
      }
      session.started(started);
      if (started.exit === undefined) this.#live.set(session.id, session);
      return session;
    } catch (error) {
      if (error instanceof SandboxError) return failure(error.message);
      throw error;
    }
  }

  /** Cuts every connection. */
  drop(): void {
    for (const client of this.#clients) client.drop();
  }

  /** A client of a session, or of a start that failed, whose connection lasts until `until`. */
  async serve(client: SessionClient, until: Promise<void>): Promise<void> {
    this.#clients.add(client);
    await until.finally(() => this.#clients.delete(client));
  }

  /** All of them are gone, without an exit. */
  forget(): void {
    this.#losses += 1;
    this.drop();
    for (const id of this.#live.keys()) this.#ended.add(id);
    this.#live.clear();
  }

  /** As {@link forget}, and none is started any more. */
  end(): void {
    this.#isOver = true;
    this.forget();
  }

  #forget(session: Session): void {
    this.#live.delete(session.id);
    this.#ended.add(session.id);
    if (this.#ended.size > MOST_ENDED) this.#ended.delete(this.#ended.values().next().value!);
  }
}

function failure(startError: string): { readonly failed: Exit } {
  return { failed: { exitCode: 127, startError } };
}
