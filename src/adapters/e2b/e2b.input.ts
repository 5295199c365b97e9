import { MAX_TIMEOUT_MS, SandboxError, type TerminalSize } from '#libs/contract';
import { withinDeadline } from '../common/deadline.js';
import type { HttpAnswer } from '../common/http-client.js';
import { mayHaveActed } from '../common/failed-answer.js';
import { closedBeforeExit, commandExited } from '../common/journal-errors.js';
import { asObject, type JsonObject } from '../common/json.js';
import { notSupported } from '../common/not-supported.js';
import { answerError, callError, connectCodeOf, malformedReply } from './e2b.errors.js';
import type { E2bMachine } from './e2b.machine.js';

/** A pipe takes 64 KiB; the service waits as long as it is full. */
const PIECE_BYTES = 32 * 1024;
const END_OF_TRANSMISSION = Buffer.of(4);

/** The way into a process, by its pid. One call at a time: the service keeps no order between several. */
export class E2bInput {
  readonly pid: string;
  readonly #machine: E2bMachine;
  readonly #tty: boolean;
  readonly #life = new AbortController();

  constructor(machine: E2bMachine, pid: string, tty: boolean) {
    this.pid = pid;
    this.#machine = machine;
    this.#tty = tty;
  }

  /** Resolves when the pipe took all of it. */
  async write(data: Uint8Array): Promise<void> {
    for (let at = 0; at < data.byteLength; at += PIECE_BYTES) {
      const sending = this.#send(data.subarray(at, at + PIECE_BYTES));
      // A piece that did nothing is still the end of a write of which a part was taken.
      await (at === 0 ? sending : sending.catch(mayHaveActed));
    }
  }

  /** On a terminal: what ends the input of a program that heeds it. Succeeds when the process has ended. */
  async closeStdin(): Promise<void> {
    if (this.#tty) return this.write(END_OF_TRANSMISSION);
    const answer = await this.#call('CloseStdin', {});
    if (answer.ok || connectCodeOf(answer) === 'not_found') return;
    if (answer.status !== 404 && answer.status !== 501) throw answerError(answer);
    throw notSupported('the template of the sandbox is too old: it cannot close the stdin of a process');
  }

  async resize({ cols, rows }: TerminalSize): Promise<void> {
    const answer = await this.#call('Update', { pty: { size: { cols, rows } } });
    if (answer.ok) return;
    throw connectCodeOf(answer) === 'not_found' ? commandExited() : callError('Update', answer);
  }

  /** Gives up what is waited for, once whatever ended the command has answered it. Any number of times. */
  close(): void {
    setImmediate(() => setImmediate(() => this.#life.abort()));
  }

  async #send(piece: Uint8Array): Promise<void> {
    const text = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('base64');
    const answer = await this.#call('SendInput', { input: { [this.#tty ? 'pty' : 'stdin']: text } });
    if (answer.ok) return;
    const code = connectCodeOf(answer);
    if (code === 'not_found') throw commandExited();
    if (code !== 'internal' && code !== 'failed_precondition') throw callError('SendInput', answer);
    throw new SandboxError('write_failed', {
      effect: 'unknown',
      message: 'the process took no input: its stdin is closed',
    });
  }

  /** Sent once, and waited for as long as it takes. @throws {SandboxError} `provider` for a success that is none of envd's */
  async #call(method: string, message: JsonObject): Promise<HttpAnswer> {
    if (this.#life.signal.aborted) throw closedBeforeExit().with({ effect: 'none' });
    const whole = { process: { pid: Number(this.pid) }, ...message };
    const answer = await withinDeadline(MAX_TIMEOUT_MS, this.#life.signal, (deadline) =>
      this.#machine.tryCall(`process.Process/${method}`, whole, deadline),
    );
    if (answer.ok && asObject(answer.json()) === undefined) throw malformedReply(method);
    return answer;
  }
}
