import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { REPOSITORY } from './dist.js';
import { processesOf } from './processes.js';
import { tempDir } from './temp-dir.js';
import { until } from './until.js';

export interface StartOptions {
  /** Through npm, as a user types it, or the script that npm runs. @default 'node' */
  readonly via?: 'node' | 'npm';
  readonly env?: Readonly<Record<string, string>>;
}

/** `npm start` as a child process, with a temporary directory of its own, so that whatever it leaves is seen. */
export class StartProcess implements AsyncDisposable {
  stdout = Buffer.of();
  stderr = '';
  ended: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined;

  private constructor(
    readonly child: ChildProcessWithoutNullStreams,
    readonly directory: { readonly path: string; remove(): Promise<void> },
  ) {
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    child.stdin.on('error', () => {});
    child.on('close', (code, signal) => {
      this.ended = { code, signal };
    });
  }

  /** With `--run script`, or without for the mode that stays. stdout is not read until asked to. */
  static async launch(
    script: string | undefined,
    { via = 'node', env = {} }: StartOptions = {},
  ): Promise<StartProcess> {
    const directory = await tempDir('start');
    const args = script === undefined ? [] : ['--run', script];
    const [program, programArgs] =
      via === 'npm'
        ? ['npm', ['-s', 'start', '--', ...args]]
        : [process.execPath, [join(REPOSITORY, 'tools/start.mjs'), ...args]];
    const child = spawn(program, programArgs, {
      cwd: REPOSITORY,
      stdio: 'pipe',
      // npm would keep a cache of compiled code in the temporary directory.
      env: { ...process.env, NODE_OPTIONS: '', NODE_DISABLE_COMPILE_CACHE: '1', TMPDIR: directory.path, ...env },
    });
    return new StartProcess(child, directory);
  }

  /** Keeps everything that comes on stdout. */
  read(): this {
    const pieces: Buffer[] = [];
    this.child.stdout.on('data', (data: Buffer) => {
      pieces.push(data);
      if (pieces.length % 64 === 1 || pieces.length < 64) this.stdout = Buffer.concat(pieces);
    });
    this.child.stdout.on('end', () => (this.stdout = Buffer.concat(pieces)));
    return this;
  }

  /** The exit code, once it has ended. */
  async code(withinMs = 50_000): Promise<number | NodeJS.Signals | null> {
    const { code, signal } = await until('npm start ends', () => this.ended, { withinMs });
    return signal ?? code;
  }

  /** Everything that it printed and how it ended. */
  async outcome(): Promise<{ stdout: string; stderr: string; code: unknown }> {
    const code = await this.code();
    return { stdout: this.stdout.toString(), stderr: this.stderr, code };
  }

  /** What is left of it: files in its temporary directory, and processes that knew of it. */
  async left(): Promise<{ files: string[]; processes: number[] }> {
    return { files: await readdir(this.directory.path), processes: await processesOf(this.directory.path) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.stdout.resume();
    if (!this.ended) this.child.kill('SIGTERM');
    await this.code().catch(() => this.child.kill('SIGKILL'));
    for (const pid of await processesOf(this.directory.path)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
    await this.directory.remove();
  }
}
