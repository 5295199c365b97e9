import { CommandStream, SandboxError } from '#libs/contract';
import { closedBeforeExit, malformedWord } from './journal-errors.js';
import { startError } from './recorded-exit.js';

/** Nobody keeps the output of a terminal, so it cannot be dropped and read again. */
const MAX_QUEUED_BYTES = 4 * 1024 * 1024;
const MAX_LINE_BYTES = 256;
const NEWLINE = 10;

/** The output of a terminal, after the lines in which the shim speaks. */
export class TerminalOutput {
  readonly stream = new CommandStream();
  /** Lets go of the process, once there is one. */
  onOverflow: () => void = () => {};
  /** 127 or 126 when the shim found that the program cannot start. */
  startCode = 0;
  #isSpeaking: boolean;
  #unread: Buffer = Buffer.alloc(0);
  #offset = 0;
  #wake: (() => void) | undefined;
  #end: { readonly error: SandboxError; readonly exitCode: number | undefined } | undefined;

  constructor(isSpeaking: boolean) {
    this.#isSpeaking = isSpeaking;
  }

  output(data: Uint8Array): void {
    if (!this.#isSpeaking) return this.#deliver(data);
    this.#unread = Buffer.concat([this.#unread, data]);
    this.#wake?.();
    return undefined;
  }

  closed(error: SandboxError, exitCode?: number): void {
    this.#end = { error, exitCode };
    this.#wake?.();
    if (!this.#isSpeaking) this.#finish();
  }

  /** The next line in which the shim speaks. */
  async line(): Promise<string> {
    for (;;) {
      const end = this.#unread.indexOf(NEWLINE);
      if (end !== -1) {
        const line = this.#unread.subarray(0, end).toString('latin1').replace(/\r$/, '');
        this.#unread = this.#unread.subarray(end + 1);
        return line;
      }
      if (this.#unread.byteLength > MAX_LINE_BYTES) throw malformedWord();
      if (this.#end) throw this.#end.error;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** What comes after is the command's. */
  begin(): void {
    this.#isSpeaking = false;
    this.#deliver(this.#unread);
    this.#unread = Buffer.alloc(0);
    this.#finish();
  }

  #finish(): void {
    if (this.#end === undefined) return;
    const { error, exitCode } = this.#end;
    if (exitCode === undefined) return this.stream.error(closedBeforeExit(error));
    const failed = this.startCode !== 0 && this.startCode === exitCode;
    return this.stream.frame({ type: 'exit', exitCode, ...(failed && { startError: startError(exitCode) }) });
  }

  #deliver(data: Uint8Array): void {
    this.stream.frame({ type: 'stdout', data, offset: this.#offset });
    this.#offset += data.byteLength;
    if (this.stream.queuedBytes <= MAX_QUEUED_BYTES) return;
    this.stream.error(
      new SandboxError('unavailable', {
        detail: 'slow_consumer',
        effect: 'unknown',
        message: 'the output of a terminal was not read in time, and nobody keeps it',
      }),
    );
    this.onOverflow();
  }
}
