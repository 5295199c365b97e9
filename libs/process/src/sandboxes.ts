import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SandboxError } from '#libs/contract/core';
import { errnoOf, noSuchSession, sessionLost, systemError } from './errors.js';
import type { LostSessions } from './recover.js';
import { removeTree } from './remove-tree.js';
import { checkRoot } from './root.js';
import { checkSandboxName, isSandboxName } from './sandbox-name.js';
import { Sandbox, type SandboxContext } from './sandbox.js';
import type { Session } from './session.js';
import { writeSandboxFile } from './write-file.js';
import { ZombieGroups } from './zombie-groups.js';

/** The sandboxes of a root, on disk and in memory. */
export class Sandboxes {
  /** Only those with something to remember; a directory under the root is a sandbox without it. */
  readonly #known = new Map<string, Sandbox>();
  readonly #zombies = new ZombieGroups();

  constructor(
    private readonly context: SandboxContext,
    private readonly lost: LostSessions = new Map(),
  ) {}

  get runningCount(): number {
    let count = 0;
    for (const sandbox of this.#known.values()) count += sandbox.runningCount;
    return count;
  }

  /** Sessions that hold something of the machine: a process or a pipe. */
  get liveCount(): number {
    let count = 0;
    for (const sandbox of this.#known.values()) count += sandbox.liveCount;
    return count;
  }

  get sessionCount(): number {
    let count = 0;
    for (const sandbox of this.#known.values()) count += sandbox.sessionCount;
    return count;
  }

  async create(name: string): Promise<void> {
    await this.#with(name, async (sandbox) => {
      await sandbox.lock.exclusive(async () => {
        checkRoot(this.context.root);
        await makeDirectory(sandbox);
      });
    });
  }

  get(name: string): { status: 'running' | 'suspended'; path: string } {
    checkSandboxName(name);
    const sandbox = this.#known.get(name) ?? new Sandbox(name, this.context);
    sandbox.checkExists();
    return { status: sandbox.suspended ? 'suspended' : 'running', path: sandbox.directory };
  }

  async names(): Promise<string[]> {
    try {
      const entries = await readdir(this.context.root.path, { withFileTypes: true });
      checkRoot(this.context.root);
      return entries.filter((entry) => entry.isDirectory() && isSandboxName(entry.name)).map(({ name }) => name);
    } catch (error) {
      throw systemError('unavailable', 'the sandboxes could not be listed', error, 'none');
    }
  }

  async destroy(name: string): Promise<void> {
    await this.#with(name, async (sandbox) => {
      await sandbox.lock.destroying(async () => await this.#destroy(sandbox));
    });
  }

  async suspend(name: string): Promise<void> {
    await this.#with(name, async (sandbox) => {
      await sandbox.lock.exclusive(async () => {
        sandbox.checkExists();
        if (!(await sandbox.stop(this.context.limits.stopGraceMs))) throw notStopped();
        await markSuspended(sandbox);
      });
    });
  }

  async resume(name: string): Promise<void> {
    await this.awake(name, async () => {});
  }

  async writeFile(name: string, path: string, data: Uint8Array, mode?: number): Promise<void> {
    await this.awake(name, async ({ directory }) => await writeSandboxFile(directory, path, data, mode));
  }

  /** Works in a sandbox that exists, resuming it where it is suspended, while nobody changes it. */
  async awake<T>(name: string, work: (sandbox: Sandbox) => Promise<T>): Promise<T> {
    return await this.#with(name, async (sandbox) => {
      return await sandbox.lock.shared(async () => {
        sandbox.checkExists();
        await wake(sandbox);
        return await work(sandbox);
      });
    });
  }

  /** @throws {SandboxError} `not_found`; `unavailable` / `session_lost` */
  session(name: string, id: string): Session {
    const session = this.#known.get(name)?.session(id);
    if (session) return session;
    throw this.lost.get(name)?.has(id) ? sessionLost() : noSuchSession();
  }

  /** Oldest first. @throws {SandboxError} `not_found` */
  sessionsOf(name: string): Session[] {
    this.get(name);
    return [...(this.#known.get(name)?.sessions ?? [])];
  }

  reach(name: string, id: string, reach: Session['reach']): void {
    this.#known.get(name)?.reach(id, reach);
  }

  forget(session: Session): void {
    this.#known.get(session.spec.sandbox)?.forget(session);
  }

  look(): void {
    for (const sandbox of this.#known.values()) {
      sandbox.look();
      if (sandbox.idle) this.#known.delete(sandbox.name);
    }
  }

  /** As `look`, for what only a look at all processes can tell. */
  async lookForZombies(): Promise<void> {
    await this.#zombies.look([...this.#known.values()].flatMap((sandbox) => sandbox.lingering));
  }

  /**
   * Stops everything, and lets go of it. What is left of a sandbox where a process withstood is for the next keeper.
   *
   * @returns whether none did
   */
  async close(graceMs: number): Promise<boolean> {
    const stopped = await Promise.all(
      [...this.#known.values()].map(
        async (sandbox) =>
          await sandbox.lock.exclusive(async () => {
            const isStopped = await sandbox.stop(graceMs);
            if (isStopped) await sandbox.clear();
            else sandbox.release();
            await sandbox.close();
            return isStopped;
          }),
      ),
    );
    this.#known.clear();
    return stopped.every(Boolean);
  }

  async #destroy(sandbox: Sandbox): Promise<void> {
    if (!(await sandbox.stop(this.context.limits.stopGraceMs))) throw notStopped();
    const { trash } = this.context.root;
    try {
      await moveToTrash(sandbox, trash);
      await sandbox.clear();
      this.lost.delete(sandbox.name);
      await rm(sandbox.suspendedMark, { force: true });
      // Also what an earlier destroy of this name could not remove.
      for (const entry of await readdir(trash)) {
        if (entry.startsWith(`${sandbox.name}~`)) await removeTree(join(trash, entry));
      }
    } catch (error) {
      throw systemError('unavailable', 'the sandbox could not be removed whole', error);
    }
  }

  async #with<T>(name: string, work: (sandbox: Sandbox) => Promise<T>): Promise<T> {
    checkSandboxName(name);
    let sandbox = this.#known.get(name);
    if (!sandbox) this.#known.set(name, (sandbox = new Sandbox(name, this.context)));
    sandbox.users += 1;
    try {
      return await work(sandbox);
    } finally {
      sandbox.users -= 1;
      if (sandbox.idle) this.#known.delete(name);
    }
  }
}

async function makeDirectory(sandbox: Sandbox): Promise<void> {
  try {
    await mkdir(sandbox.directory, { mode: 0o700 });
    await chmod(sandbox.directory, 0o700);
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw systemError('write_failed', 'the sandbox could not be made', error, 'none');
    try {
      sandbox.checkExists();
    } catch {
      throw new SandboxError('write_failed', { message: 'something else has the name of the sandbox', effect: 'none' });
    }
  }
}

/** Its processes are gone by then, whether it can be recorded or not: what was asked for has happened in part. */
async function markSuspended({ suspendedMark }: Sandbox): Promise<void> {
  try {
    await writeFile(suspendedMark, '', { mode: 0o600 });
  } catch (error) {
    throw systemError('unavailable', 'everything was stopped, but that could not be recorded', error, 'done');
  }
}

/** To ask costs far less than to remove what is not there. */
async function wake(sandbox: Sandbox): Promise<void> {
  if (!sandbox.suspended) return;
  try {
    await rm(sandbox.suspendedMark, { force: true });
  } catch (error) {
    throw systemError('unavailable', 'the sandbox could not be resumed', error, 'none');
  }
}

async function moveToTrash(sandbox: Sandbox, trash: string): Promise<void> {
  try {
    await rename(sandbox.directory, join(trash, `${sandbox.name}~${randomBytes(8).toString('hex')}`));
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
  }
}

function notStopped(): SandboxError {
  return new SandboxError('unavailable', { message: 'a process of the sandbox could not be ended' });
}
