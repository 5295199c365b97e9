import { rm } from 'node:fs/promises';
import { SandboxError, type StreamOffsets } from '#libs/contract/core';
import { inheritedVariables } from './environment.js';
import { systemError } from './errors.js';
import { FifoPool } from './fifo-pool.js';
import type {
  JournalView,
  Keeper,
  KeeperStats,
  SessionDescription,
  SessionSpec,
  SessionTail,
  StartedSession,
} from './keeper.js';
import { KEEPER_LIMITS, type KeeperLimits } from './limits.js';
import { recoverRoot } from './recover.js';
import { RootLock, RootLockedError } from './root-lock.js';
import { openRoot, type Root } from './root.js';
import { Sandboxes } from './sandboxes.js';
import { checkSessionSpec, sessionLimit, startSession } from './start-session.js';
import { TailAnnouncer } from './tail-announcer.js';

export interface LocalKeeperOptions {
  /** The directory that sandboxes are directories of. Made, 0700, where it is missing. */
  readonly root: string;
  readonly limits?: Partial<KeeperLimits>;
  /** Lines for the operator. They hold no command output and no environment value. */
  readonly log?: (message: string) => void;
}

/** How often it is looked whether what ended sessions left running has gone. */
const LOOK_MS = 1_000;
/** The same where it takes a look at all processes of the machine. */
const LOOK_FOR_ZOMBIES_MS = 5_000;

/**
 * The keeper in the process of its caller. It ends with it: on the next `open` the processes of an earlier one are
 * killed, and their sessions are `unavailable` / `session_lost` until their sandbox is destroyed.
 */
export class LocalKeeper implements Keeper {
  readonly #looks: readonly NodeJS.Timeout[];
  readonly #inherited = inheritedVariables();
  #starting = 0;
  #closed: Promise<void> | undefined;

  private constructor(
    private readonly root: Root,
    private readonly lock: RootLock,
    private readonly limits: KeeperLimits,
    private readonly announcer: TailAnnouncer,
    private readonly sandboxes: Sandboxes,
    private readonly fifos: FifoPool,
    /** Whether what an earlier daemon left running was ended. */
    private readonly recovered: boolean,
  ) {
    this.#looks = [
      setInterval(() => sandboxes.look(), LOOK_MS).unref(),
      // What could not be looked at is looked at the next time.
      setInterval(() => void sandboxes.lookForZombies().catch(() => {}), LOOK_FOR_ZOMBIES_MS).unref(),
    ];
  }

  /**
   * Takes the root, ends what an earlier daemon left there, and is ready.
   *
   * @throws {RootLockedError} another daemon holds the root
   * @throws {SandboxError} `unavailable`: the root cannot be used
   */
  static async open({ root: path, limits: changes, log = () => {} }: LocalKeeperOptions): Promise<LocalKeeper> {
    let lock: RootLock | undefined;
    try {
      const limits = { ...KEEPER_LIMITS, ...changes };
      const root = await openRoot(path);
      lock = await RootLock.acquire(root);
      const { lost, ended } = await recoverRoot(root, log);
      const announcer = new TailAnnouncer(log);
      const sandboxes = new Sandboxes({ root, limits, announcer }, lost);
      const fifos = new FifoPool(root.tmp);
      await fifos.fill();
      return new LocalKeeper(root, lock, limits, announcer, sandboxes, fifos, ended);
    } catch (error) {
      await lock?.release().catch(() => {});
      throw error instanceof RootLockedError
        ? error
        : systemError('unavailable', 'the root cannot be used', error, 'none');
    }
  }

  async create(name: string): Promise<void> {
    this.#checkOpen();
    await this.sandboxes.create(name);
  }

  async get(name: string): Promise<{ status: 'running' | 'suspended'; path: string }> {
    this.#checkOpen();
    return this.sandboxes.get(name);
  }

  async destroy(name: string): Promise<void> {
    this.#checkOpen();
    await this.sandboxes.destroy(name);
  }

  async names(): Promise<string[]> {
    this.#checkOpen();
    return await this.sandboxes.names();
  }

  async suspend(name: string): Promise<void> {
    this.#checkOpen();
    await this.sandboxes.suspend(name);
  }

  async resume(name: string): Promise<void> {
    this.#checkOpen();
    await this.sandboxes.resume(name);
  }

  async writeFile(name: string, path: string, data: Uint8Array, mode?: number): Promise<void> {
    this.#checkOpen();
    await this.sandboxes.writeFile(name, path, data, mode);
  }

  async start(spec: SessionSpec): Promise<StartedSession> {
    this.#checkOpen();
    checkSessionSpec(spec);
    if (this.#starting + this.sandboxes.liveCount >= this.limits.liveSessions) throw sessionLimit();
    this.#starting += 1;
    try {
      const session = await this.sandboxes.awake(spec.sandbox, async (sandbox) => {
        this.#checkOpen();
        return await startSession(sandbox, spec, {
          fifos: this.fifos,
          limits: this.limits,
          inherited: this.#inherited,
        });
      });
      return { id: session.id, directory: session.view.directory };
    } finally {
      this.#starting -= 1;
    }
  }

  async write(sandbox: string, id: string, offset: number | 'next', data: Uint8Array): Promise<{ applied: number }> {
    return await this.sandboxes.session(sandbox, id).write(offset, data);
  }

  async closeStdin(sandbox: string, id: string): Promise<void> {
    await this.sandboxes.session(sandbox, id).closeStdin();
  }

  async stop(
    sandbox: string,
    id: string,
    how: { signal?: NodeJS.Signals; graceMs: number },
  ): Promise<{ gone: boolean }> {
    return { gone: await this.sandboxes.session(sandbox, id).stop(how) };
  }

  async list(name: string): Promise<SessionDescription[]> {
    const running = this.sandboxes.sessionsOf(name).filter(({ spec, ended }) => spec.detachable === true && !ended);
    return running.map(({ description }) => description).toReversed();
  }

  async journal(sandbox: string, id: string): Promise<JournalView> {
    return this.sandboxes.session(sandbox, id).view;
  }

  reach(sandbox: string, id: string, reach: StreamOffsets | 'detached' | 'hold'): void {
    this.sandboxes.reach(sandbox, id, reach);
  }

  async forget(name: string, id: string): Promise<void> {
    const session = this.sandboxes.session(name, id);
    if (!session.ended) throw new SandboxError('invalid', { detail: 'argument', message: 'the session has not ended' });
    this.sandboxes.forget(session);
  }

  onTail(callback: (tail: SessionTail) => void): () => void {
    return this.announcer.on(callback);
  }

  stats(): KeeperStats {
    return { running: this.sandboxes.runningCount, sessions: this.sandboxes.sessionCount };
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    for (const look of this.#looks) clearInterval(look);
    try {
      const stopped = await this.sandboxes.close(this.limits.closeGraceMs);
      await this.fifos.close();
      // Records of what withstood are for the next daemon.
      const isClean = stopped && this.recovered;
      if (isClean && (await this.lock.held())) await rm(this.root.sessions, { recursive: true, force: true });
      await this.lock.release();
      if (!stopped) throw new SandboxError('unavailable', { message: 'processes of sandboxes could not be ended' });
    } catch (error) {
      throw systemError('unavailable', 'the root could not be left clean', error);
    }
  }

  #checkOpen(): void {
    if (this.#closed) throw new SandboxError('unavailable', { detail: 'draining', effect: 'none' });
  }
}
