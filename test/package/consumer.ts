import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { succeed } from './program.js';
import { packageTestDirectory, tarball } from './tarball.js';

/** An empty directory to install the package in, as a user has one. */
export class Consumer implements AsyncDisposable {
  private constructor(readonly directory: string) {}

  static async create(manifest: object): Promise<Consumer> {
    const consumer = new Consumer(await mkdtemp(join(packageTestDirectory(), 'consumer-')));
    await consumer.write('package.json', JSON.stringify({ private: true, ...manifest }));
    await copyFile(tarball(), join(consumer.directory, basename(tarball())));
    return consumer;
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  async write(name: string, text: string): Promise<void> {
    await mkdir(dirname(this.path(name)), { recursive: true });
    await writeFile(this.path(name), text);
  }

  async install(...args: readonly string[]): Promise<void> {
    const quiet = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
    await succeed('npm', ['install', ...quiet, ...args], { cwd: this.directory });
  }

  /** What a command line prints. @throws {Error} unless it succeeds */
  sh(line: string): Promise<string> {
    return succeed('sh', ['-c', line], { cwd: this.directory });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }
}
