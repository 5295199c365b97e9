import { randomBytes } from 'node:crypto';
import { removeTree } from '#libs/process';
import { copyTree } from '../kit/copy-tree.js';
import type { EmulatorRoot } from '../kit/emulator-root.js';
import { refusal } from './refusals.js';
import type { Sandbox } from './sandbox.js';

export interface Snapshot {
  readonly id: string;
  readonly names: readonly string[];
  readonly sandboxId: string;
  readonly createdAt: Date;
  /** The copy of the disk on this machine. */
  readonly directory: string;
}

/** Copies of disks, which can be created from. Memory is not in them: processes cannot be copied. */
export class Snapshots {
  #made: Snapshot[] = [];

  constructor(private readonly root: EmulatorRoot) {}

  get all(): readonly Snapshot[] {
    return this.#made;
  }

  find(id: string): Snapshot | undefined {
    return this.#made.find((snapshot) => snapshot.id === id || snapshot.id === `${id}:default`);
  }

  /** The sandbox has to stand still. */
  async take(sandbox: Sandbox, name: string | undefined): Promise<Snapshot> {
    const directory = this.root.fresh();
    await copyTree(sandbox.disk.directory, directory);
    const own = randomBytes(10).toString('hex');
    const id = name === undefined ? `${own}:default` : `emulator/${name}:${own.slice(0, 8)}`;
    const names = name === undefined ? [] : [`emulator/${name}`];
    const snapshot = { id, names, sandboxId: sandbox.id, createdAt: new Date(), directory };
    this.#made.push(snapshot);
    return snapshot;
  }

  /** @throws {Refusal} 404 */
  async delete(id: string): Promise<void> {
    const snapshot = this.find(id);
    if (!snapshot) throw refusal(404, `Template "${id}" not found`);
    this.#made = this.#made.filter((other) => other !== snapshot);
    await removeTree(snapshot.directory);
  }
}
