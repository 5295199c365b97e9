import type { Exit } from '#libs/contract/core';
import type { EmulatedProcess, OutputStream, ProcessEvents } from '../kit/emulated-process.js';
import { written, type ConnectError } from './connect-protocol.js';
import type { EventStream } from './event-stream.js';
import type { FreezableTimers } from './freezable-timers.js';
import { endOf } from './go-exit.js';
import type { E2bSettings } from './options.js';
import type { StartRequest } from './start-request.js';

/** Bytes of output in one event. */
const CHUNK_BYTES = { pipe: 32 * 1024, pty: 16 * 1024 } as const;

/** Milliseconds before the end of a process that got a signal of which the output is lost, where it is. */
const LOST_MS = 200;

interface Item {
  readonly event: Readonly<Record<string, unknown>>;
  readonly exit?: Exit;
}

export interface ProcessOwner {
  readonly settings: E2bSettings;
  readonly clock: FreezableTimers;
  /** Its end was delivered. */
  ended(process: EnvdProcess): void;
}

/**
 * One process as envd has it: what it prints goes to everybody who reads at that moment, and to nobody else. A reader
 * that does not keep up holds up all of them, and the process.
 */
export class EnvdProcess implements ProcessEvents {
  readonly #readers = new Map<EventStream, ConnectError | undefined>();
  /** What the fan-out has not got rid of. */
  readonly #held: Item[] = [];
  /** Its own start, and ghosts: while there are any, nothing is delivered. */
  #holds = 1;
  #ghosts = new Set<() => void>();
  #frozen = false;
  #slow = 0;
  #over = false;
  #signalled = false;
  /** Output that is lost if the process ends at once. */
  readonly #late = new Set<NodeJS.Timeout>();
  #process: EmulatedProcess | undefined;
  #callOff: () => void = () => {};
  #ptyStarted = false;
  stdinClosed: boolean;
  /** How it ended, once that was delivered. */
  end: Readonly<Record<string, unknown>> | undefined;

  constructor(
    readonly request: StartRequest,
    private readonly owner: ProcessOwner,
  ) {
    this.stdinClosed = !request.stdin;
  }

  get process(): EmulatedProcess {
    return this.#process!;
  }

  get pid(): number {
    return this.process.pid;
  }

  /** Whether a ghost keeps it from going on. */
  get blocked(): boolean {
    return this.#ghosts.size > 0 && this.#held.length > 0;
  }

  started(process: EmulatedProcess): void {
    this.#process = process;
    this.#pace();
  }

  /** Lets output go, once `start` was sent. */
  open(): void {
    this.#release();
  }

  output(stream: OutputStream, data: Buffer): void {
    if (this.#over) return;
    const { pty } = this.request;
    if (pty && !this.#ptyStarted) {
      this.#ptyStarted = true;
      if (this.owner.settings.alternatives.terminalStart === 'lost') return;
    }
    if (!this.#losing) return this.#print(stream, data);
    const timer = setTimeout(() => {
      this.#late.delete(timer);
      this.#print(stream, data);
    }, LOST_MS);
    this.#late.add(timer);
  }

  #print(stream: OutputStream, data: Buffer): void {
    const { pty } = this.request;
    const size = CHUNK_BYTES[pty ? 'pty' : 'pipe'];
    for (let at = 0; at < data.length; at += size) {
      const text = data.subarray(at, at + size).toString('base64');
      this.#deliver({ event: { data: { [pty ? 'pty' : stream]: text } } });
    }
  }

  exited(exit: Exit): void {
    if (!this.#losing) return;
    this.#forgetLate();
    this.ended(exit);
  }

  ended(exit: Exit): void {
    if (this.#over) return;
    this.#over = true;
    this.#deliver({ event: written({ end: endOf(exit) }, this.owner.settings), exit });
  }

  attach(reader: EventStream): void {
    this.#readers.set(reader, undefined);
    void reader.done.then(() => this.detach(reader));
    this.#pace();
  }

  detach(reader: EventStream): void {
    this.#readers.delete(reader);
    this.#pace();
  }

  /** Kills it after `ms`, whoever reads; its starter's stream ends with `error`. */
  limit(ms: number, starter: EventStream, error: ConnectError): void {
    this.#callOff = this.owner.clock.after(ms, () => {
      this.process.signalLeader('SIGKILL');
      if (!this.#readers.has(starter)) return;
      if (this.owner.settings.alternatives.endAfterTimeout) {
        this.#readers.set(starter, error);
        return;
      }
      this.#readers.delete(starter);
      starter.finish(error);
    });
  }

  /** Only the leader gets it. From here on the process does not wait for who else holds its pipes. @returns whether it was there */
  signal(signal: 'SIGTERM' | 'SIGKILL'): boolean {
    this.#signalled = true;
    const sent = this.process.signalLeader(signal);
    this.process.hurry();
    return sent;
  }

  /** Everything stands still. Its readers lose it, or become ghosts. */
  freeze(): void {
    const { pausedStreams } = this.owner.settings.alternatives;
    this.#frozen = true;
    this.#pace();
    for (const reader of this.#readers.keys()) {
      if (pausedStreams === 'ghost') reader.mute();
      else reader.cut();
      if (pausedStreams !== 'cut') this.#haunt(reader);
    }
    this.#readers.clear();
  }

  thaw(): void {
    this.#frozen = false;
    this.#pace();
  }

  get #losing(): boolean {
    return this.#signalled && this.owner.settings.alternatives.outputAfterSignal === 'lost';
  }

  #forgetLate(): void {
    for (const timer of this.#late) clearTimeout(timer);
    this.#late.clear();
  }

  #haunt(reader: EventStream): void {
    this.#holds += 1;
    const leave = () => {
      if (!this.#ghosts.delete(leave)) return;
      reader.cut();
      this.#release();
    };
    this.#ghosts.add(leave);
    this.owner.clock.after(this.owner.settings.ghostMs, leave);
  }

  /** All streams end without an end of the process. */
  drop(): void {
    this.#over = true;
    this.#forgetLate();
    this.#held.length = 0;
    for (const leave of this.#ghosts) leave();
    for (const reader of this.#readers.keys()) reader.cut();
    this.#readers.clear();
  }

  #release(): void {
    this.#holds -= 1;
    if (this.#holds > 0) return;
    for (const item of this.#held.splice(0)) this.#fan(item);
    this.#pace();
  }

  #deliver(item: Item): void {
    if (this.#holds > 0) this.#held.push(item);
    else this.#fan(item);
    this.#pace();
  }

  #fan({ event, exit }: Item): void {
    for (const reader of this.#readers.keys()) reader.event(event);
    if (!exit) return;
    this.#callOff();
    this.end = event;
    for (const [reader, error] of this.#readers) reader.finish(error);
    this.owner.ended(this);
  }

  #pace(): void {
    if (!this.#process) return;
    for (const reader of this.#readers.keys()) {
      if (reader.queuedBytes > this.owner.settings.readerBytes) void this.#wait(reader);
    }
    const stuck = this.#holds > 0 && this.#held.length > 0;
    if (this.#frozen || stuck || this.#slow > 0) this.#process.pause();
    else this.#process.resume();
  }

  async #wait(reader: EventStream): Promise<void> {
    this.#slow += 1;
    await Promise.race([reader.flushed, reader.done]);
    this.#slow -= 1;
    if (this.#slow === 0) this.#pace();
  }
}
