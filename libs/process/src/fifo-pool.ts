import { execFile } from 'node:child_process';
import { constants, openSync, closeSync, unlinkSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SandboxError } from '#libs/contract/core';
import { DEFAULT_PATH } from './environment.js';
import { errnoOf, isDiskFull } from './errors.js';

const run = promisify(execFile);

const BATCH = 128;
const LOW_MARK = 128;
const MKFIFO_TIMEOUT_MS = 10_000;

/** One pipe with both ends open. */
export interface OpenFifo {
  readonly readEnd: number;
  readonly writeEnd: number;
}

/**
 * FIFOs made ahead, in batches, because Node cannot make them and a process per start would double its price. A
 * child's stdio goes over FIFOs since Node's own `'pipe'` is a socket, on which `echo x >/dev/stdout` fails.
 */
export class FifoPool {
  readonly #ready: string[] = [];
  #made = 0;
  #filling: Promise<void> | undefined;

  constructor(private readonly directory: string) {}

  /** Fills it for the first time. @throws {SandboxError} `unavailable` */
  async fill(): Promise<void> {
    await this.#fill();
  }

  /**
   * The names of `count` FIFOs, waiting for a refill when fewer are left.
   *
   * @throws {SandboxError} `unavailable`
   */
  async take(count: number): Promise<string[]> {
    while (this.#ready.length < count) await this.#fill();
    const names = this.#ready.splice(-count);
    if (this.#ready.length < LOW_MARK) void this.#fill().catch(() => {});
    return names;
  }

  /** What cannot be removed here is removed when the next daemon starts. */
  async close(): Promise<void> {
    await this.#filling?.catch(() => {});
    await Promise.all(this.#ready.splice(0).map(async (path) => await rm(path, { force: true }).catch(() => {})));
  }

  #fill(): Promise<void> {
    this.#filling ??= this.#make().finally(() => (this.#filling = undefined));
    return this.#filling;
  }

  async #make(): Promise<void> {
    const paths = Array.from({ length: BATCH }, () => join(this.directory, `fifo-${(this.#made += 1)}`));
    try {
      await run('mkfifo', ['-m', '600', ...paths], {
        timeout: MKFIFO_TIMEOUT_MS,
        // The owner's PATH is for commands, and may hold nothing of the system's.
        env: { PATH: `${process.env['PATH'] || '/nonexistent'}:${DEFAULT_PATH}`, LC_ALL: 'C' },
      });
    } catch (cause) {
      await Promise.all(paths.map(async (path) => await rm(path, { force: true })));
      const full = isDiskFull(cause) || String((cause as { stderr?: unknown }).stderr).includes('No space left');
      throw new SandboxError('unavailable', {
        message: `no pipe could be made: mkfifo: ${errnoOf(cause) ?? 'failed'}`,
        effect: 'none',
        ...(full && { detail: 'disk_full' }),
        cause,
      });
    }
    this.#ready.push(...paths);
  }
}

/** Opens both ends and removes the name. The reader comes first: without one the writer's open would block. */
export function openFifo(path: string): OpenFifo {
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return { readEnd, writeEnd: openSync(path, constants.O_WRONLY) };
  } catch (error) {
    closeSync(readEnd);
    throw error;
  } finally {
    unlinkSync(path);
  }
}

/**
 * Opens both ends of a child's stdin. The name stays: on Linux opening `/dev/stdin` opens the FIFO anew. The child's
 * end blocks, as every program expects of its stdin.
 */
export function openStdin(path: string): OpenFifo {
  const first = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const writeEnd = openSync(path, constants.O_WRONLY);
    try {
      return { writeEnd, readEnd: openSync(path, constants.O_RDONLY) };
    } catch (error) {
      closeSync(writeEnd);
      throw error;
    }
  } finally {
    closeSync(first);
  }
}
