import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../runner/src/main.js', import.meta.url));
const STOP_WITHIN_MS = 15_000;
const KEPT_LOG_BYTES = 16 * 1024;

export interface DaemonOptions {
  readonly url: string;
  readonly token: string;
  readonly root: string;
  readonly name: string;
  /** Its log passed on to our stderr, or kept for when it fails. */
  readonly log: 'inherit' | 'keep';
  /** The daemon's program. @default the one beside this platform */
  readonly main?: string;
}

/**
 * A runner daemon as a process of its own. It is in a process group of its own, so that a Ctrl-C in the terminal
 * reaches only us and we can drain first; it watches the pipe at its stdin, so that it ends with us, however we end.
 */
export class DaemonProcess {
  readonly #child: ChildProcess;
  #log = '';

  /** Resolves with the reason why it ended. Never rejects. */
  readonly ended: Promise<string>;

  constructor({ url, token, root, name, log, main = MAIN }: DaemonOptions) {
    // Neither the platform's tokens nor settings meant for another daemon.
    const environment = Object.entries(process.env).filter(([key]) => !/^(RUNNER_TOKENS$|SANDBOX_RUNNER_)/.test(key));
    const output = log === 'inherit' ? 2 : 'pipe';
    this.#child = spawn(process.execPath, [main], {
      detached: true,
      stdio: ['pipe', output, output],
      env: {
        ...Object.fromEntries(environment),
        SANDBOX_RUNNER_URL: url,
        SANDBOX_RUNNER_TOKEN: token,
        SANDBOX_RUNNER_ROOT: root,
        SANDBOX_RUNNER_NAME: name,
        SANDBOX_RUNNER_EXIT_WITH_PARENT: 'true',
      },
    });
    this.#child.stdin?.on('error', () => {});
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#log = (this.#log + text).slice(-KEPT_LOG_BYTES);
      });
    }
    this.ended = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(`it could not be started: ${error.message}`));
      this.#child.once('close', (code, signal) => resolve(`it ended with ${signal ?? `exit code ${code}`}`));
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Whether it ended by itself and left nothing running. */
  get endedWell(): boolean {
    return this.#child.exitCode === 0;
  }

  /** The end of its log, if that was kept. */
  get log(): string {
    return this.#log;
  }

  /** Asks it to end, and makes it so after 15 s. Idempotent. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    const cut = setTimeout(() => this.#child.kill('SIGKILL'), STOP_WITHIN_MS);
    await this.ended;
    clearTimeout(cut);
  }
}
