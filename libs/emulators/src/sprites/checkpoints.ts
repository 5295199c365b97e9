import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree } from '#libs/process';
import { copyTree } from '../kit/copy-tree.js';
import type { SandboxDisk } from '../kit/sandbox-disk.js';
import { refusal } from './refusals.js';

export interface Checkpoint {
  readonly id: string;
  readonly createdAt: Date;
  readonly comment?: string;
  readonly sourceId?: string;
  readonly auto: boolean;
}

/** Copies of the disk of one sprite. Automatic ones share the numbering of none. */
export class Checkpoints {
  #made: Checkpoint[] = [];
  #numbers = 0;
  #autoNumbers = 0;
  /** What the disk as it is began as. */
  #source: string | undefined;

  constructor(
    private readonly disk: SandboxDisk,
    /** On this machine; it holds one directory for each. */
    private readonly directory: string,
  ) {}

  /** The newest first, after the entry for the disk as it is. */
  list(withAuto: boolean): readonly Checkpoint[] {
    const source = this.#source === undefined ? {} : { sourceId: this.#source };
    const current: Checkpoint = { id: 'Current', createdAt: new Date(), auto: false, ...source };
    return [current, ...this.#made.filter(({ auto }) => withAuto || !auto).toReversed()];
  }

  /** @throws {Refusal} 404 */
  get(id: string): Checkpoint {
    const found = this.#made.find((checkpoint) => checkpoint.id === id);
    if (!found) throw refusal(404, `checkpoint not found: ${id}`);
    return found;
  }

  async create(comment?: string, auto = false): Promise<Checkpoint> {
    const id = auto ? `auto-${++this.#autoNumbers}` : `v${++this.#numbers}`;
    const source = this.#source === undefined ? {} : { sourceId: this.#source };
    await this.disk.change(() => copyTree(this.disk.directory, join(this.directory, id)));
    const checkpoint = { id, createdAt: new Date(), auto, ...(comment && { comment }), ...source };
    this.#made.push(checkpoint);
    this.#source = id;
    return checkpoint;
  }

  /** The processes have to be gone. @throws {Refusal} 404 */
  async restore(id: string): Promise<void> {
    this.get(id);
    const { directory } = this.disk;
    await this.disk.change(async () => {
      for (const name of await readdir(directory)) await removeTree(join(directory, name));
      await copyTree(join(this.directory, id), directory);
      this.disk.make();
    });
    this.#source = id;
  }

  /** @throws {Refusal} 404, 409 when the disk as it is began as this one */
  async delete(id: string): Promise<void> {
    this.get(id);
    if (id === this.#source) throw refusal(409, 'checkpoint is in use');
    this.#made = this.#made.filter((checkpoint) => checkpoint.id !== id);
    await removeTree(join(this.directory, id));
  }

  /** The disk has to be gone. */
  async remove(): Promise<void> {
    this.#made = [];
    await removeTree(this.directory);
  }
}
