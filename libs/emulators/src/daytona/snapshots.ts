import { randomUUID } from 'node:crypto';
import { removeTree } from '#libs/process';
import { copyTree } from '../kit/copy-tree.js';
import type { EmulatorRoot } from '../kit/emulator-root.js';
import type { SandboxDisk } from '../kit/sandbox-disk.js';
import { Timers } from '../kit/timers.js';
import { apiFailure } from './api-failure.js';
import type { Size } from './create-request.js';
import type { PlannedFailure } from './lifecycle.js';
import type { DaytonaSettings } from './options.js';
import type { Sandbox } from './sandbox.js';

export type SnapshotState = 'pending' | 'snapshotting' | 'active' | 'inactive' | 'error' | 'removing';

/** A file system that sandboxes are made from. */
export interface Snapshot {
  readonly id: string;
  readonly name: string;
  readonly imageName: string;
  /** Whether it is the vendor's own. */
  readonly general: boolean;
  readonly size: Size;
  readonly createdAt: Date;
  readonly sourceSandboxId?: string;
  state: SnapshotState;
  errorReason?: string;
  lastUsedAt?: Date;
  /** Where its files lie on this machine; an image has none. */
  directory?: string;
}

const VENDOR: readonly (readonly [name: string, size: Size])[] = [
  ['daytona-small', { cpu: 1, memory: 1, disk: 3 }],
  ['daytona-medium', { cpu: 2, memory: 4, disk: 8 }],
  ['daytona-large', { cpu: 4, memory: 8, disk: 10 }],
];
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.:/-]*$/;

/** The snapshots of the organization, with those of the vendor. */
export class Snapshots {
  readonly #all = new Map<string, Snapshot>();
  readonly #timers = new Timers();

  constructor(
    private readonly settings: DaytonaSettings,
    private readonly root: EmulatorRoot,
  ) {
    for (const [name, size] of VENDOR) this.#add({ name, imageName: name, general: true, size, state: 'active' });
  }

  /** The newest use first. */
  get all(): readonly Snapshot[] {
    const used = ({ lastUsedAt, createdAt }: Snapshot) => (lastUsedAt ?? createdAt).getTime();
    return [...this.#all.values()].toSorted((a, b) => used(b) - used(a));
  }

  /** @throws {ApiFailure} 404 */
  get(idOrName: string): Snapshot {
    const found = this.#all.get(idOrName) ?? this.all.find(({ name }) => name === idOrName);
    const hidden = found?.state === 'error' && this.settings.alternatives.brokenSnapshot === 'listed';
    if (!found || hidden) throw apiFailure(404, `Snapshot with ID or name ${idOrName} not found`);
    return found;
  }

  /** One to make a sandbox from. @throws {ApiFailure} 400 */
  usable(idOrName: string): Snapshot {
    const found = this.#all.get(idOrName) ?? this.all.find(({ name }) => name === idOrName);
    if (!found) throw apiFailure(400, `Snapshot ${idOrName} not found`);
    if (found.state !== 'active') throw apiFailure(400, `Snapshot ${idOrName} is ${found.state}`);
    found.lastUsedAt = new Date();
    return found;
  }

  /** From an image. @throws {ApiFailure} 400, 409 */
  create(name: unknown, imageName: string, size: Size): Snapshot {
    const snapshot = this.#add({ name: this.#free(name), imageName, general: false, size, state: 'pending' });
    this.#timers.after(this.settings.delaysMs.build, () => {
      if (snapshot.state === 'pending') snapshot.state = 'active';
    });
    return snapshot;
  }

  /** From a sandbox. @returns what does it @throws {ApiFailure} 400, 409 */
  capture(sandbox: Sandbox, name: unknown, failure?: PlannedFailure): () => Promise<void> {
    const snapshot = this.#add({
      name: this.#free(name),
      imageName: '',
      general: false,
      size: { cpu: sandbox.cpu, memory: sandbox.memory, disk: sandbox.disk },
      state: 'snapshotting',
      sourceSandboxId: sandbox.id,
    });
    const owner = sandbox.files.directory;
    return async () => {
      await sandbox.processes.signalAll(owner, 'SIGSTOP');
      try {
        snapshot.directory = this.root.fresh();
        await copyTree(owner, snapshot.directory);
      } finally {
        await sandbox.processes.signalAll(owner, 'SIGCONT');
      }
      if (snapshot.state !== 'snapshotting') return;
      snapshot.state = failure ? 'error' : 'active';
      if (failure) snapshot.errorReason = failure.reason;
    };
  }

  /** Fills a new disk. */
  async copyInto({ directory }: Snapshot, disk: SandboxDisk): Promise<void> {
    if (directory) await disk.change(() => copyTree(directory, disk.directory));
  }

  /** @throws {ApiFailure} 403, 404 */
  delete(id: string): void {
    const snapshot = this.#all.get(id);
    if (!snapshot) throw apiFailure(404, `Snapshot with ID ${id} not found`);
    if (snapshot.general) throw apiFailure(403, 'General snapshots cannot be deleted');
    snapshot.state = 'removing';
    this.#timers.after(this.settings.delaysMs.removeSnapshot, () => {
      this.#all.delete(id);
      // What is still there ends with the emulator.
      if (snapshot.directory) void removeTree(snapshot.directory).catch(() => {});
    });
  }

  close(): void {
    this.#timers.close();
  }

  #free(name: unknown): string {
    if (typeof name !== 'string' || !NAME.test(name)) throw apiFailure(400, 'Invalid snapshot name');
    if (this.all.some((other) => other.name === name)) {
      throw apiFailure(409, `Snapshot with name "${name}" already exists`);
    }
    return name;
  }

  #add(snapshot: Omit<Snapshot, 'id' | 'createdAt'>): Snapshot {
    const added = { ...snapshot, id: randomUUID(), createdAt: new Date() };
    this.#all.set(added.id, added);
    return added;
  }
}
