import { rm, rmdir } from 'node:fs/promises';
import { lstatSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { noSuchSandbox, systemError } from './errors.js';
import { JournalRoom } from './journal-room.js';
import type { KeeperLimits } from './limits.js';
import type { ProcessGroup } from './process-group.js';
import { checkRoot, type Root } from './root.js';
import { SandboxLock } from './sandbox-lock.js';
import type { Session, SessionEvents } from './session.js';
import { stopProcesses } from './stop-processes.js';
import type { TailAnnouncer } from './tail-announcer.js';

/** Milliseconds for which the journals of a destroyed sandbox can still be read by whoever reads them already. */
const PARTING_MS = 10_000;

export interface SandboxContext {
  readonly root: Root;
  readonly limits: KeeperLimits;
  readonly announcer: TailAnnouncer;
}

/** What is known in memory of one sandbox: its lock, its sessions, and what is left of those that ended. */
export class Sandbox implements SessionEvents {
  readonly directory: string;
  readonly journals: string;
  readonly suspendedMark: string;
  readonly lock = new SandboxLock();
  /** Calls that hold this object, some of them waiting for its lock. */
  users = 0;
  /** Those that have a journal, oldest first. */
  readonly #sessions = new Map<string, Session>();
  /** Those with a process that runs or may, or with a pipe that somebody holds; forgotten ones included. */
  readonly #live = new Set<Session>();
  readonly #room: JournalRoom;
  /** Ended sessions of a destroyed sandbox whose last output and exit are still being read. */
  readonly #parting = new Map<string, { readonly session: Session; readonly timer: NodeJS.Timeout }>();
  /** No session was started since all were let go. */
  #cleared = false;
  /** Journals that are being removed. */
  readonly #removals = new Set<Promise<void>>();

  constructor(
    readonly name: string,
    private readonly context: SandboxContext,
  ) {
    const { root, limits } = context;
    this.directory = join(root.path, name);
    this.journals = join(root.sessions, name);
    this.suspendedMark = join(root.state, `${name}.suspended`);
    this.#room = new JournalRoom(
      limits,
      () => this.#sessions.values(),
      (session) => this.forget(session),
    );
  }

  /** Whether there is nothing to remember. */
  get idle(): boolean {
    return (
      this.users === 0 &&
      this.#sessions.size === 0 &&
      this.#live.size === 0 &&
      this.#parting.size + this.#removals.size === 0
    );
  }

  get sessions(): Iterable<Session> {
    return this.#sessions.values();
  }

  get sessionCount(): number {
    return this.#sessions.size;
  }

  get runningCount(): number {
    let running = 0;
    for (const session of this.#live) if (session.leaderRunning) running += 1;
    return running;
  }

  get liveCount(): number {
    return this.#live.size;
  }

  /** @throws {SandboxError} `not_found`; `unavailable`: it cannot be told */
  checkExists(): void {
    if (statsOf(this.directory)?.isDirectory()) return;
    checkRoot(this.context.root);
    throw noSuchSandbox();
  }

  /** Nearly always there is no mark. @throws {SandboxError} `unavailable`: it cannot be told */
  get suspended(): boolean {
    return statsOf(this.suspendedMark) !== undefined;
  }

  session(id: string): Session | undefined {
    return this.#sessions.get(id) ?? this.#parting.get(id)?.session;
  }

  add(session: Session): void {
    this.#cleared = false;
    this.#sessions.set(session.id, session);
    this.#live.add(session);
  }

  forget(session: Session): void {
    this.#parted(session.id);
    if (!this.#sessions.delete(session.id)) return;
    this.#room.add(-session.kept);
    this.#remove(session);
    this.#room.retry();
  }

  #remove(session: Session): void {
    const removal = this.#removeJournal(session.view.directory).finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }

  /** What cannot be removed here is removed when the next daemon starts. */
  async #removeJournal(directory: string): Promise<void> {
    await rm(directory, { recursive: true, force: true }).catch(() => {});
    if (this.#cleared) await rmdir(this.journals).catch(() => {}); // succeeds for the last one
  }

  /** Stops every process of the sandbox. Resolves after the ends were announced. @returns whether none is left */
  async stop(graceMs: number): Promise<boolean> {
    const live = [...this.#live];
    const groups = live.flatMap((session) => session.groups);
    const gone = await stopProcesses(
      { groups, marked: ({ directoryMarker }) => directoryMarker === this.directory },
      { graceMs },
    );
    if (gone) for (const group of groups) group.onlyZombies();
    if (gone) await Promise.all(live.map(async (session) => await session.finished));
    this.context.announcer.flush();
    return gone;
  }

  /**
   * Lets go of every session, after `stop`. Whoever reads one has some seconds to come to its end; the others, and
   * their journals, are gone when this resolves.
   */
  async clear(): Promise<void> {
    this.release();
    this.#cleared = true;
    for (const session of this.#sessions.values()) {
      if (session.unread) this.forget(session);
      else this.#part(session);
    }
    await Promise.all(this.#removals);
    await rmdir(this.journals).catch(() => {}); // later, when somebody still reads in it
  }

  /** Gives up the pipes of every session, whose records stay. */
  release(): void {
    for (const session of this.#live) session.release();
    this.#live.clear();
  }

  /** Waits for no reader. */
  async close(): Promise<void> {
    for (const id of this.#parting.keys()) this.#parted(id);
    await Promise.all(this.#removals);
  }

  #part(session: Session): void {
    this.#sessions.delete(session.id);
    this.#room.add(-session.kept);
    const timer = setTimeout(() => this.#parted(session.id), PARTING_MS).unref();
    this.#parting.set(session.id, { session, timer });
  }

  #parted(id: string): void {
    const parting = this.#parting.get(id);
    if (!parting) return;
    clearTimeout(parting.timer);
    this.#parting.delete(id);
    this.#remove(parting.session);
  }

  /** Looks whether what was left behind by ended sessions has gone by itself. */
  look(): void {
    for (const session of this.#live) if (session.ended && session.quiet) this.quiet(session);
  }

  /** Groups that may be kept by zombies alone. */
  get lingering(): readonly ProcessGroup[] {
    return [...this.#live].flatMap((session) => session.lingering);
  }

  /** Does nothing for a session that is not there any more. */
  reach(id: string, reach: Session['reach']): void {
    if (reach === 'detached') this.#parted(id);
    const session = this.#sessions.get(id);
    if (!session) return;
    session.reach = reach;
    this.#room.retry();
  }

  grew(session: Session, bytes: number): void {
    this.#room.add(bytes);
    this.#room.makeFor(session);
    this.context.announcer.grew(session);
  }

  ended(): void {
    let finished = 0;
    for (const session of this.#sessions.values()) if (session.ended) finished += 1;
    for (const session of this.#sessions.values()) {
      if (finished <= this.context.limits.finishedSessions) break;
      if (!session.ended || !session.unread) continue;
      this.forget(session);
      finished -= 1;
    }
    this.#room.retry();
  }

  quiet(session: Session): void {
    if (this.#live.delete(session)) session.release();
  }
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw systemError('unavailable', 'the sandbox cannot be looked at', error, 'none');
  }
}
