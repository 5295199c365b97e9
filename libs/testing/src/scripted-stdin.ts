import { brokenPipe, exited, stdinRefused } from './fake-errors.js';

interface Written {
  readonly data: Uint8Array;
  readonly settle: (error?: Error) => void;
}

/** The pipe to a command's stdin. It holds a little; what goes beyond waits until the command has read. */
export class ScriptedStdin {
  readonly isOpen: boolean;
  readonly #pipeBytes: number;
  readonly #onChange: () => void;
  readonly #unread: (Uint8Array | 'eof')[] = [];
  readonly #waiting: Written[] = [];
  #unreadBytes = 0;
  #closed = false;
  #refused = false;
  #over = false;

  /** @param onChange there is something to read, or nothing more will come */
  constructor(isOpen: boolean, pipeBytes: number, onChange: () => void) {
    this.isOpen = isOpen;
    this.#pipeBytes = pipeBytes;
    this.#onChange = onChange;
  }

  /**
   * Resolves when the pipe took all of it; keeps no reference to `data` beyond that.
   *
   * @throws {SandboxError} `command_exited`; `write_failed`; `invalid` / `stdin_not_open`, `stdin_closed`
   */
  async write(data: Uint8Array): Promise<void> {
    this.#checkOpen();
    if (this.#closed) throw stdinRefused('stdin_closed', 'stdin was closed');
    if (this.#refused) throw brokenPipe();
    if (data.byteLength === 0) return;
    await new Promise<void>((resolve, reject) => {
      const settle = (error?: Error) => (error ? reject(error) : resolve());
      this.#waiting.push({ data: Buffer.from(data), settle });
      this.#fill();
      this.#onChange();
    });
  }

  /** EOF behind what was written. Succeeds twice, and after exit. @throws {SandboxError} `invalid` / `stdin_not_open` */
  async close(): Promise<void> {
    if (this.#over) return;
    this.#checkOpen();
    this.#closed = true;
    this.#onChange();
  }

  /** EOF behind what was written, for one reading: more may follow. */
  endOfInput(): void {
    this.#unread.push('eof');
    this.#onChange();
  }

  /** The next piece, `eof` behind the last, or nothing yet. Where stdin was not opened there is nothing to read. */
  read(): Uint8Array | 'eof' | undefined {
    const data = this.#unread.shift();
    if (data === undefined) return this.#closed || this.#over || !this.isOpen ? 'eof' : undefined;
    if (data === 'eof') return data;
    this.#unreadBytes -= data.byteLength;
    this.#fill();
    return data;
  }

  /** The command reads no more, and lives. */
  refuse(): void {
    this.#refused = true;
    this.#drop(brokenPipe().with({ effect: 'unknown' }));
  }

  /** The command is gone: what waits is refused. */
  end(): void {
    this.#over = true;
    this.#drop(exited().with({ effect: 'unknown' }));
  }

  #drop(error: Error): void {
    this.#unread.length = 0;
    for (const { settle } of this.#waiting.splice(0)) settle(error);
  }

  #checkOpen(): void {
    if (this.#over) throw exited();
    if (!this.isOpen) throw stdinRefused('stdin_not_open', 'stdin of this command was not opened');
  }

  #fill(): void {
    for (let next = this.#waiting[0]; next !== undefined && this.#hasRoom(next.data); next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#unread.push(next.data);
      this.#unreadBytes += next.data.byteLength;
      next.settle();
    }
  }

  /** A piece that is larger than the pipe goes through it when nothing else is in it. */
  #hasRoom(data: Uint8Array): boolean {
    return this.#unreadBytes === 0 || this.#unreadBytes + data.byteLength <= this.#pipeBytes;
  }
}
