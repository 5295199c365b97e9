import { SandboxError } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { closedBeforeExit } from '../common/journal-errors.js';
import { asObject, type JsonObject } from '../common/json.js';
import { EnvelopeReader, type ConnectMessage } from './connect-envelope.js';
import { streamError } from './e2b.errors.js';
import type { E2bMachine, Reach } from './e2b.machine.js';

/** How long after the last event the orderly end of a stream is waited for, so that its connection can be used again. */
const LINGER_MS = 1_000;
/** Signs of life that may be missing. */
const MISSING = 3;

/** What happens on a stream of one process. `closed` comes once, last, unless this end closed. */
export interface StreamEvents {
  started(pid: string): void;
  output(data: Buffer): void;
  /** @param end how the process ended, where that was said */
  closed(error: SandboxError, end?: JsonObject): void;
}

/** A `Start` or a `Connect`, read to its end: a reader that waits would hold up every other, and the process. */
export class E2bEventStream {
  readonly #machine: E2bMachine;
  readonly #events: StreamEvents;
  readonly #life = new AbortController();
  readonly #keepaliveMs: number;
  #heardAtMs = performance.now();
  #watch: NodeJS.Timeout | undefined;
  #linger: NodeJS.Timeout | undefined;
  #leave = (): void => {};
  #hasStarted = false;
  #isClosed = false;
  #isRead = false;
  #drained: Promise<void> = Promise.resolve();

  constructor(machine: E2bMachine, events: StreamEvents) {
    this.#machine = machine;
    this.#events = events;
    this.#keepaliveMs = machine.control.options.keepaliveSeconds * 1000;
  }

  /** Whether more may come. */
  get isOpen(): boolean {
    return !this.#isClosed;
  }

  /** Events may be delivered before it resolves. @throws {SandboxError} there is no stream */
  async open(method: string, message: JsonObject, deadline: Deadline, reach?: Pick<Reach, 'wake'>): Promise<void> {
    const { residents, id } = this.#machine;
    try {
      for (let over = residents.pausing(id); over; over = residents.pausing(id)) await deadline.race(over, 'none');
      this.#leave = residents.add(id, { park: () => this.#park() });
      const response = await this.#machine.open(method, message, this.#life, deadline, reach);
      this.#watch = setInterval(() => this.#look(), this.#keepaliveMs).unref();
      this.#heardAtMs = performance.now();
      this.#drained = this.#read(response.body?.getReader());
    } catch (error) {
      this.#isClosed = true;
      this.#life.abort();
      this.#leave();
      throw error;
    }
  }

  /** Nothing is delivered any more. Any number of times. */
  close(): void {
    this.#isClosed = true;
    if (this.#linger === undefined) this.#life.abort();
  }

  /** As `close`, for a process that is about to end by itself. */
  closeSoon(): void {
    this.#isClosed = true;
    if (!this.#isRead) this.#linger ??= setTimeout(() => this.#life.abort(), LINGER_MS).unref();
  }

  async #park(): Promise<void> {
    this.#life.abort();
    await this.#drained;
  }

  async #read(body: ReadableStreamDefaultReader<Uint8Array> | undefined): Promise<void> {
    let failure: SandboxError | undefined;
    const reader = new EnvelopeReader((message) => {
      if (!this.#isClosed) this.#take(message);
    });
    // What has come whole when it is given up would never end otherwise.
    const giveUp = (): void => void body?.cancel().catch(() => {});
    this.#life.signal.addEventListener('abort', giveUp);
    if (this.#life.signal.aborted) giveUp();
    try {
      for (let next = await body?.read(); next?.value; next = await body?.read()) {
        this.#heardAtMs = performance.now();
        reader.push(next.value);
      }
    } catch (error) {
      if (error instanceof SandboxError) failure = error;
      this.#life.abort();
    } finally {
      this.#isRead = true;
      clearInterval(this.#watch);
      clearTimeout(this.#linger);
      this.#leave();
    }
    this.#end(failure ?? closedBeforeExit());
  }

  #take({ isLast, message }: ConnectMessage): void {
    if (isLast) {
      const error = asObject(message['error']);
      const said = error && streamError(error['code']);
      // Of a process that was started it is no refusal.
      return this.#end(said && !this.#hasStarted ? said : closedBeforeExit(said), undefined, true);
    }
    const { start, data, end } = asObject(message['event']) ?? {};
    if (start !== undefined) this.#started(asObject(start)?.['pid']);
    if (data !== undefined) this.#output(asObject(data) ?? {});
    // What comes after it, or does not, changes nothing.
    if (end !== undefined) this.#end(closedBeforeExit(), asObject(end) ?? {}, true);
    return undefined;
  }

  #started(pid: unknown): void {
    // A process has one number.
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    if (typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0) this.#events.started(String(pid));
    else this.#end(unreadable('did not say which process it started'));
  }

  /** Our programs write only to stdout. */
  #output({ stdout, pty }: JsonObject): void {
    const text = stdout ?? pty;
    if (text === undefined) return;
    const bytes = decoded(text);
    if (bytes === undefined) this.#end(unreadable('sent something else than bytes'));
    else this.#events.output(bytes);
  }

  #end(error: SandboxError, end?: JsonObject, isOrderly = false): void {
    if (this.#isClosed) return;
    if (isOrderly) this.closeSoon();
    else this.close();
    this.#events.closed(error, end);
  }

  /** A stream that a pause left open gives no sign of life any more. */
  #look(): void {
    if (performance.now() - this.#heardAtMs < MISSING * this.#keepaliveMs) return;
    this.#life.abort();
  }
}

/** `undefined`: it is no base64, of which a decoder would leave out what it does not know. */
function decoded(text: unknown): Buffer | undefined {
  if (typeof text !== 'string' || text.length % 4 !== 0) return undefined;
  const bytes = Buffer.from(text, 'base64');
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  return bytes.byteLength === (text.length / 4) * 3 - padding ? bytes : undefined;
}

function unreadable(what: string): SandboxError {
  return new SandboxError('provider', { detail: 'malformed_frame', effect: 'unknown', message: `E2B ${what}` });
}
