import { mkdirSync } from 'node:fs';
import type { SandboxDisk } from '../kit/sandbox-disk.js';
import { ConnectFailure } from './connect-protocol.js';

/** The files of a sandbox as one of its users names them. */
export class UserFiles {
  /** As the sandbox names it. */
  readonly homeName: string;

  constructor(
    readonly disk: SandboxDisk,
    readonly user: string,
  ) {
    this.homeName = user === 'root' ? '/root' : `/home/${user}`;
    if (!disk.sealed) mkdirSync(this.home, { recursive: true });
  }

  /** On this machine. */
  get home(): string {
    return this.disk.locate(this.homeName);
  }

  /**
   * Where a path lies on this machine. Absolute ones are taken as they are; `~` and relative ones begin in the home
   * directory, and an empty one is it.
   *
   * @param follow whether a symlink at the path itself is followed. @default true
   * @throws {ConnectFailure} `invalid_argument` for the home of another user
   */
  async resolve(path: string, follow = true): Promise<string> {
    return await this.disk.resolve(this.#expanded(path), this.homeName, follow);
  }

  /** How the sandbox names what a path means. */
  nameOf(path: string): string {
    return this.disk.nameOf(this.disk.locate(this.#expanded(path), this.homeName));
  }

  /** A program below the home directory lies there on this machine too; others are this machine's own. */
  inHome(path: string): string {
    return path.startsWith(`${this.homeName}/`) ? this.disk.locate(path) : path;
  }

  #expanded(path: string): string {
    if (path === '' || path === '~') return this.homeName;
    if (path.startsWith('~/')) return `${this.homeName}/${path.slice(2)}`;
    if (path.startsWith('~')) throw new ConnectFailure('invalid_argument', `cannot expand '${path}'`);
    return path;
  }
}
