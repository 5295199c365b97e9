import { randomInt } from 'node:crypto';
import { gate, type Gate } from './gate.js';

export type FieldFrame = { stream: 'stdout' | 'stderr'; data: string } | { stream: 'exit'; code: number };
type Emit = (frame: Record<string, unknown>) => void;

/**
 * A process of the field daemon, played from words instead of run:
 * `out:<text>` and `err:<text>` print, `exit:<code>` ends, `stay` echoes stdin as `echo:<data>` and exits 0 at EOF,
 * `flood:<bytes>` prints that many bytes of the alphabet, `hold` waits for `release()`.
 */
export class FieldSession {
  readonly createdAt = new Date();
  exitCode: number | null = null;
  /** Every frame from byte zero, kept for replay for as long as the session is known. */
  readonly #journal: FieldFrame[] = [];
  #emit: Emit | undefined;
  #lock: Promise<void> = Promise.resolve();
  #stdinClosed = false;
  readonly #eof: Gate = gate();
  readonly #released: Gate = gate();

  constructor(
    readonly id: string,
    readonly sandbox: string,
    readonly words: readonly string[],
    readonly stdin: boolean,
  ) {}

  get attached(): boolean {
    return this.#emit !== undefined;
  }

  /** Whether `words` ever end without outside help. */
  async run(): Promise<number> {
    for (const word of this.words) {
      const [verb, argument] = split(word);
      if (verb === 'out') await this.print('stdout', argument);
      else if (verb === 'err') await this.print('stderr', argument);
      else if (verb === 'flood') await this.#flood(Number(argument));
      else if (verb === 'hold') await this.#released.opened;
      else if (verb === 'stay') await this.#eof.opened;
      else if (verb === 'exit') return this.end(Number(argument));
      else return this.end(127);
    }
    return this.end(0);
  }

  release(): void {
    this.#released.open();
  }

  /** To the journal and, while somebody is attached, to the socket: one lock for both, so that order is the same. */
  print(stream: 'stdout' | 'stderr', data: string | Buffer): Promise<void> {
    return this.#append({ stream, data: Buffer.from(data).toString('base64') });
  }

  async end(code: number): Promise<number> {
    if (this.exitCode !== null) return this.exitCode;
    this.exitCode = code;
    await this.#append({ stream: 'exit', code });
    return code;
  }

  /** Replays everything to `emit`, tagged, and makes it the one place where live frames go. */
  attach(requestId: number, emit: Emit): Promise<void> {
    return this.#locked(() => {
      for (const frame of this.#journal) emit({ ...frame, session_id: this.id, replay_for: requestId });
      this.#emit = emit;
    });
  }

  detach(): Promise<void> {
    return this.#locked(() => {
      this.#emit = undefined;
    });
  }

  /** A pipe: it takes what it is given in the order in which it is given it, and answers when it has it. */
  async write(data: Buffer): Promise<'ok' | 'command_exited' | 'write_failed'> {
    if (this.exitCode !== null) return 'command_exited';
    if (!this.stdin || this.#stdinClosed) return 'write_failed';
    await this.print('stdout', Buffer.concat([Buffer.from('echo:'), data]));
    return 'ok';
  }

  closeStdin(): void {
    this.#stdinClosed = true;
    this.#eof.open();
  }

  async #flood(bytes: number): Promise<void> {
    const piece = 32 * 1024;
    for (let at = 0; at < bytes; at += piece) {
      await this.print('stdout', alphabet(at, Math.min(piece, bytes - at)));
      if (at % (8 * piece) === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  #append(frame: FieldFrame): Promise<void> {
    return this.#locked(() => {
      this.#journal.push(frame);
      this.#emit?.({ ...frame, session_id: this.id });
    });
  }

  #locked(action: () => void): Promise<void> {
    this.#lock = this.#lock.then(action);
    return this.#lock;
  }
}

/** `bytes` of the alphabet, as they stand from `offset` on; any loss, repeat or swap of pieces shows. */
export function alphabet(offset: number, bytes: number): Buffer {
  const data = Buffer.allocUnsafe(bytes);
  for (let i = 0; i < bytes; i += 1) data[i] = 33 + ((offset + i) % 89);
  return data;
}

/** A delay as tasks have them: different every time, so that concurrent ones finish in another order. */
export function jitter(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, randomInt(0, 4)));
}

function split(word: string): [verb: string, argument: string] {
  const colon = word.indexOf(':');
  return colon < 0 ? [word, ''] : [word.slice(0, colon), word.slice(colon + 1)];
}
