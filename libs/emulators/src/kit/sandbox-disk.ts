import { mkdirSync } from 'node:fs';
import { readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize, resolve } from 'node:path';
import { removeTree } from '#libs/process';

/** More symlinks on one way than this are a loop, as Linux has it. */
const MOST_HOPS = 40;

/**
 * Thrown for a path that a symlink leads out of the sandbox, and for any of one that is gone: there is nothing there, as
 * far as the sandbox goes.
 */
export class OutsideSandbox extends Error {
  readonly code = 'ENOENT';
}

/**
 * The files of one emulated sandbox: a directory that plays its root. `/home/user/x` of the sandbox is
 * `<directory>/home/user/x` here.
 *
 * What is isolated: files that are named by calls of the API, which never reach beyond the directory, symlinks
 * included. What is not: a command is an ordinary process of this machine, so a literal `/home/user` or `/tmp` in a
 * script is the machine's own. Scripts have to use `$HOME` and `$TMPDIR`, which lie inside; a path that a script made
 * from them is understood by the API too. Its user, its processes and its network are this machine's as well. Of the
 * environment of this process it gets nothing; two variables that begin with `SANDBOX_` mark it as the emulator's.
 */
export class SandboxDisk {
  readonly #changes = new Set<Promise<unknown>>();
  #sealed = false;

  constructor(
    /** On this machine; made when it is missing. Absolute and free of symlinks. */
    readonly directory: string,
    /** The home directory as the sandbox names it, such as `/home/user`. */
    readonly homeName: string,
  ) {
    this.make();
  }

  /** HOME of its commands. */
  get home(): string {
    return join(this.directory, this.homeName);
  }

  /** TMPDIR of its commands. */
  get tmp(): string {
    return join(this.directory, 'tmp');
  }

  /** Makes the directories that every sandbox has. */
  make(): void {
    mkdirSync(this.home, { recursive: true });
    mkdirSync(this.tmp, { recursive: true });
  }

  /** Whether nothing is made in it any more. */
  get sealed(): boolean {
    return this.#sealed;
  }

  /**
   * Does what may make the directory of the sandbox, as whatever makes missing directories may: it does not come back
   * after it was removed, which waits for what has begun.
   *
   * @throws {OutsideSandbox} nothing is made in it any more
   */
  async change<T>(act: () => Promise<T>): Promise<T> {
    if (this.#sealed) throw new OutsideSandbox('the sandbox is gone');
    const changing = act();
    this.#changes.add(changing);
    return await changing.finally(() => this.#changes.delete(changing));
  }

  /** Nothing is made in it from here on, but by what has begun. */
  seal(): void {
    this.#sealed = true;
  }

  /** Removes all of it, for good. The processes have to be gone. */
  async remove(): Promise<void> {
    this.seal();
    await Promise.allSettled(this.#changes);
    await removeTree(this.directory);
  }

  /** Where a path of the sandbox lies; a relative one is taken from `from`, by default the home directory. */
  locate(path: string, from = this.homeName): string {
    const absolute = isAbsolute(path) ? normalize(path) : resolve(isAbsolute(from) ? from : '/', path);
    const trimmed = absolute.length > 1 && absolute.endsWith('/') ? absolute.slice(0, -1) : absolute;
    if (trimmed === '/') return this.directory;
    return this.#holds(trimmed) ? trimmed : join(this.directory, trimmed);
  }

  /** How the sandbox names a path of this machine. */
  nameOf(path: string): string {
    return this.#holds(path) ? path.slice(this.directory.length) || '/' : path;
  }

  /**
   * The same as `locate`, with every symlink on the way resolved.
   *
   * @param follow whether a symlink at the path itself is followed. @default true
   * @throws {OutsideSandbox} and what the file system throws, though never because nothing is there
   */
  async resolve(path: string, from?: string, follow = true): Promise<string> {
    const located = this.locate(path, from);
    if (located === this.directory) return located;
    if (!follow) return join(await this.#real(dirname(located)), basename(located));
    return await this.#real(located);
  }

  async #real(path: string, hops = 0): Promise<string> {
    const missing: string[] = [];
    for (let at = path; ; at = dirname(at)) {
      try {
        const real = await realpath(at);
        if (!this.#holds(real)) throw new OutsideSandbox(`${path} leads out of the sandbox`);
        return join(real, ...missing);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || error instanceof OutsideSandbox) throw error;
        const target = await readlink(at).catch(() => undefined);
        if (target !== undefined) return await this.#beyond(at, target, missing, hops);
        missing.unshift(basename(at));
      }
    }
  }

  /** A symlink to what is not there: to open it would make its target, wherever that lies. */
  async #beyond(link: string, target: string, missing: readonly string[], hops: number): Promise<string> {
    if (hops === MOST_HOPS) throw new OutsideSandbox(`${link} leads in a circle`);
    const from = await this.#real(dirname(link));
    return await this.#real(join(resolve(from, target), ...missing), hops + 1);
  }

  #holds(path: string): boolean {
    return path === this.directory || path.startsWith(`${this.directory}/`);
  }
}
