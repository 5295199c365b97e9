import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { JournalParser, type JournalRecord } from '../../src/adapters/common/journal-parser.js';
import { newNonce, processTag } from '../../src/adapters/common/session-id.js';
import { FROM_STDIN } from '../../src/adapters/common/shim-start.js';

/** Those that sandboxes have for `sh`. */
export const SHELLS: readonly (readonly [name: string, argv: readonly string[]])[] = [
  ['dash', ['dash']],
  ['bash', ['bash']],
  ['busybox sh', ['busybox', 'sh']],
];

export const installed = ([program = '', ...args]: readonly string[]): boolean =>
  spawnSync(program, [...args, '-c', 'true']).status === 0;

/** A running program of the shim. */
export class ShimProgram {
  readonly words: string[] = [];
  readonly ended: Promise<unknown>;
  readonly pid: number;
  readonly #pieces = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] };
  readonly #bytes = { stdout: 0, stderr: 0 };
  readonly stdin;
  readonly #child;

  constructor(
    shell: readonly string[],
    home: string,
    program: string,
    nonce = newNonce(),
    env: NodeJS.ProcessEnv = {},
  ) {
    // The nonce is on the command line, as it is at a provider.
    const tag = processTag('c', nonce);
    const [command, ...args] = [...shell, '-c', FROM_STDIN, tag, 'a command'];
    this.#child = spawn(command, args, {
      env: { PATH: process.env['PATH'], HOME: home, ...env },
      cwd: home,
      detached: true,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.pid = this.#child.pid as number;
    this.stdin = this.#child.stdin;
    this.stdin.on('error', () => {});
    this.stdin.write(`${program}${tag}\n`);
    const parser = new JournalParser((record) => this.#take(record));
    this.#child.stdout.on('data', (data: Buffer) => parser.push(data));
    this.ended = once(this.#child, 'close');
  }

  #take(record: JournalRecord): void {
    if (record.type === 'word') this.words.push([record.word, ...record.values].join(' '));
    if (record.type !== 'output') return;
    const { stream, offset, data } = record;
    if (offset !== this.base[stream] + this.#bytes[stream]) throw new Error('a gap');
    this.#bytes[stream] += data.byteLength;
    this.#pieces[stream].push(data);
  }

  get stdout(): Buffer {
    return Buffer.concat(this.#pieces.stdout);
  }

  get stderr(): Buffer {
    return Buffer.concat(this.#pieces.stderr);
  }

  readonly base = { stdout: 0, stderr: 0 };

  signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}
