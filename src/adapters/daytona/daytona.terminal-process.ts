import { SandboxError, type TerminalSize } from '#libs/contract';
import { withinDeadline, type Deadline } from '../common/deadline.js';
import { closedBeforeExit } from '../common/journal-errors.js';
import { asObject, parseJson } from '../common/json.js';
import type { ProviderSocket } from '../common/provider-socket.js';
import { USE_TIMEOUT_MS, type InSandbox } from './daytona.context.js';
import { toolboxError } from './daytona.errors.js';
import { findExit } from './daytona.probe.js';
import { OWN_PREFIX } from './daytona.sessions.js';
import { connectSocket } from './daytona.socket.js';

/** The service takes up to 64 KiB in one message. */
const PIECE_BYTES = 32 * 1024;
const REMOVE_MS = 30_000;
/** What ends the input of a program that heeds it, on a terminal. */
const END_OF_TRANSMISSION = 4;

/** Where the output of a terminal goes. Its end comes with the exit code, where there was one. */
export interface TerminalSink {
  output(data: Uint8Array): void;
  closed(error: SandboxError, exitCode?: number): void;
}

/** One connection to a terminal of the service, which is named by the nonce of the session on it. */
export class TerminalProcess {
  readonly #context: InSandbox;
  readonly #nonce: string;
  readonly #sink: TerminalSink;
  #socket: ProviderSocket | undefined;
  #isOpen = true;

  constructor(context: InSandbox, nonce: string, sink: TerminalSink) {
    this.#context = context;
    this.#nonce = nonce;
    this.#sink = sink;
  }

  /** Makes the terminal, with a login shell on it. */
  async create({ cols, rows }: TerminalSize, deadline: Deadline): Promise<void> {
    const { toolboxes, handle } = this.#context;
    const json = { id: `${OWN_PREFIX}${this.#nonce}`, cols, rows };
    const request = { method: 'POST', path: '/process/pty', json, deadline } as const;
    const answer = await toolboxes.call(handle, request, { again: false });
    if (answer && !answer.ok) throw toolboxError(answer);
  }

  /** Sees what comes from here on. */
  async connect(deadline: Deadline): Promise<void> {
    const socket = await connectSocket(
      this.#context,
      this.#context.handle,
      { path: `${this.#path}/connect` },
      {
        binary: (data) => {
          if (this.#isOpen) this.#sink.output(data);
        },
        text: (text) => this.#control(text),
        closed: (error, reason) => void this.#ended(reason, error),
      },
      deadline,
    );
    if (socket === undefined) throw closedBeforeExit().with({ effect: 'none' });
    this.#socket = socket;
    if (!this.#isOpen) socket.close();
  }

  async write(data: Uint8Array): Promise<void> {
    for (let at = 0; at < data.byteLength; at += PIECE_BYTES) {
      if (this.#socket === undefined || !this.#isOpen)
        throw closedBeforeExit().with({ effect: at > 0 ? 'unknown' : 'none' });
      await this.#socket.send(Buffer.from(data.subarray(at, at + PIECE_BYTES)));
    }
  }

  closeStdin(): Promise<void> {
    return this.write(Buffer.of(END_OF_TRANSMISSION));
  }

  async resize(size: TerminalSize): Promise<void> {
    const { toolboxes, handle } = this.#context;
    await withinDeadline(USE_TIMEOUT_MS, undefined, async (deadline) => {
      const request = { method: 'POST', path: `${this.#path}/resize`, json: size, deadline } as const;
      const answer = await toolboxes.call(handle, request, { again: true, wake: false });
      // It has ended.
      if (answer === undefined || answer.status === 404 || answer.status === 410) return;
      if (!answer.ok) throw toolboxError(answer);
    });
  }

  /** Ends it, and what runs on it. Whether it succeeds, nobody can do more. */
  async remove(): Promise<void> {
    const { toolboxes, handle } = this.#context;
    const request = { method: 'DELETE', path: this.#path } as const;
    const send = (deadline: Deadline) => toolboxes.call(handle, { ...request, deadline }, { again: true, wake: false });
    await withinDeadline(REMOVE_MS, undefined, send).catch(() => {});
  }

  /** Lets go of it. Any number of times. */
  close(): void {
    this.#isOpen = false;
    this.#socket?.close();
  }

  get #path(): string {
    return `/process/pty/${OWN_PREFIX}${this.#nonce}`;
  }

  /** Output comes in binary messages; of these, only a failure says something. */
  #control(text: string): void {
    const { status } = asObject(parseJson(text)) ?? {};
    if (status === 'error') void this.#ended('', closedBeforeExit());
  }

  /** The service says the exit when it closes; where it does not, the shim may have left it. */
  async #ended(reason: string, error: SandboxError): Promise<void> {
    if (!this.#isOpen) return;
    this.close();
    const { exitCode } = asObject(parseJson(reason)) ?? {};
    if (typeof exitCode === 'number' && Number.isInteger(exitCode) && exitCode >= 0 && exitCode <= 255) {
      return this.#sink.closed(error, exitCode);
    }
    const found = await findExit(this.#context, this.#nonce).catch(() => undefined);
    return this.#sink.closed(error, found?.exitCode);
  }
}
