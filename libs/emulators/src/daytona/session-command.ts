import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { sleep } from './within.js';
import type { DaytonaAlternatives } from './alternatives.js';
import { commandFiles, type CommandFiles } from './session-script.js';

/** How often is looked whether a command has ended. */
const LOOK_MS = 10;

/** One command of a session. */
export class SessionCommand {
  readonly id: string = randomUUID();
  readonly files: CommandFiles;
  #exitCode: number | undefined;

  constructor(
    /** As it was sent. */
    readonly text: string,
    readonly suppressInputEcho: boolean,
    /** Of its session, on this machine. */
    directory: string,
    private readonly published: DaytonaAlternatives['exitCode'],
  ) {
    this.files = commandFiles(`${directory}/${this.id}`);
    mkdirSync(this.files.directory, { recursive: true });
    writeFileSync(this.files.log, '');
    writeFileSync(this.files.command, `${text}\n`);
  }

  /** The exit code, if a call has read it already. */
  get knownExitCode(): number | undefined {
    return this.#exitCode;
  }

  /** Reads the exit code; `undefined` while it runs, and for ever when it ended its session's shell. */
  async readExitCode(): Promise<number | undefined> {
    this.#exitCode ??= await this.#recordedExit();
    return this.#exitCode;
  }

  /** Whether it has ended and its log is complete. Nothing is known by it that was not known before. */
  async ended(): Promise<boolean> {
    return this.#exitCode !== undefined || (await this.#recordedExit()) !== undefined;
  }

  /** Waits for the end, if need be for ever. */
  async untilEnded(signal: AbortSignal): Promise<void> {
    while (!(await this.ended())) await sleep(LOOK_MS, signal);
  }

  async log(): Promise<Buffer> {
    return await readFile(this.files.log).catch(() => Buffer.alloc(0));
  }

  /** As the calls show it. */
  async show(): Promise<Readonly<Record<string, unknown>>> {
    const exitCode = this.published === 'never' ? undefined : await this.readExitCode();
    return { id: this.id, command: this.text, ...(exitCode !== undefined && { exitCode }) };
  }

  async #recordedExit(): Promise<number | undefined> {
    const text = await readFile(this.files.exitCode, 'utf8').catch(() => '');
    return text === '' ? undefined : Number(text);
  }
}
