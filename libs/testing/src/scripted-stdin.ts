import { exited, stdinRefused } from './fake-errors.js';

interface Written {
  readonly data: Uint8Array;
  readonly settle: (error?: Error) => void;
}

/** The pipe to a scripted command's stdin. It holds a little; what goes beyond waits until the command has read. */
export class ScriptedStdin {
  readonly #isOpen: boolean;
  readonly #pipeBytes: number;
  readonly #onChange: () => void;
  readonly #unread: Uint8Array[] = [];
  readonly #waiting: Written[] = [];
  #unreadBytes = 0;
  #closed = false;
  #over = false;

  /** @param onChange there is something to read, or nothing more will come */
  constructor(isOpen: boolean, pipeBytes: number, onChange: () => void) {
    this.#isOpen = isOpen;
    this.#pipeBytes = pipeBytes;
    this.#onChange = onChange;
  }

  /**
   * Resolves when the pipe took all of it; keeps no reference to `data` beyond that.
   *
   * @throws {SandboxError} `command_exited`; `invalid` / `stdin_not_open`, `stdin_closed`
   */
  async write(data: Uint8Array): Promise<void> {
    this.#checkOpen();
    if (this.#closed) throw stdinRefused('stdin_closed', 'stdin was closed');
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

  /** Whether `read` gives something. */
  get readable(): boolean {
    return this.#unread.length > 0 || this.#closed;
  }

  /** The next piece, `eof` behind the last, or nothing yet. Without an open stdin nothing ever comes. */
  read(): Uint8Array | 'eof' | undefined {
    const data = this.#unread.shift();
    if (data === undefined) return this.#closed ? 'eof' : undefined;
    this.#unreadBytes -= data.byteLength;
    this.#fill();
    return data;
  }

  /** The command is gone: what waits is refused. */
  end(): void {
    this.#over = true;
    this.#unread.length = 0;
    for (const { settle } of this.#waiting.splice(0)) settle(exited().with({ effect: 'unknown' }));
  }

  #checkOpen(): void {
    if (this.#over) throw exited();
    if (!this.#isOpen) throw stdinRefused('stdin_not_open', 'stdin of this command was not opened');
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
