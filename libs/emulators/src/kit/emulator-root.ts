import { mkdtempSync, realpathSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeTree } from '#libs/process';
import { Processes } from './processes.js';

/** The one temporary directory of an emulator, with its processes. The path is short, so that sockets fit below it. */
export class EmulatorRoot {
  #made = 0;
  #closed: Promise<void> | undefined;

  private constructor(
    readonly directory: string,
    readonly processes: Processes,
  ) {}

  static async open(): Promise<EmulatorRoot> {
    const directory = realpathSync(mkdtempSync(join(tmpdir(), 'emu-')));
    try {
      const fifos = join(directory, 'p');
      await mkdir(fifos);
      return new EmulatorRoot(directory, await Processes.open(fifos));
    } catch (error) {
      await removeTree(directory);
      throw error;
    }
  }

  /** A path for a directory that nobody else has. */
  fresh(): string {
    this.#made += 1;
    return join(this.directory, String(this.#made));
  }

  /** Ends all processes and removes the directory. Any number of times. */
  async close(): Promise<void> {
    this.#closed ??= this.#close();
    await this.#closed;
  }

  async #close(): Promise<void> {
    await this.processes.close();
    await removeTree(this.directory);
  }
}
