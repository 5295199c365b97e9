import { ByteCollector, SandboxError } from '#libs/contract';
import { asObject, parseJson, type JsonObject } from '../common/json.js';

const HEADER_BYTES = 5;
const COMPRESSED = 1;
const LAST = 2;
/** The service sends pieces of 32 KiB. */
const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** The one message of a request to a streaming call. */
export function envelope(message: JsonObject): Uint8Array<ArrayBuffer> {
  const payload = Buffer.from(JSON.stringify(message));
  const whole = new Uint8Array(HEADER_BYTES + payload.byteLength);
  new DataView(whole.buffer).setUint32(1, payload.byteLength);
  whole.set(payload, HEADER_BYTES);
  return whole;
}

/** A message of the answer; the last one says how the call went. */
export interface ConnectMessage {
  readonly isLast: boolean;
  readonly message: JsonObject;
}

/** Reads the messages of a streaming answer, however they are cut. */
export class EnvelopeReader {
  readonly #emit: (message: ConnectMessage) => void;
  /** The beginning of a message that has not come whole. */
  #part = new ByteCollector(0);
  #wanted = HEADER_BYTES;

  constructor(emit: (message: ConnectMessage) => void) {
    this.#emit = emit;
  }

  /** @throws {SandboxError} `provider` / `malformed_frame` */
  push(data: Uint8Array): void {
    let rest = buffer(data);
    while (this.#part.length > 0) {
      const missing = this.#wanted - this.#part.length;
      this.#part.append(rest.subarray(0, missing));
      if (rest.byteLength < missing) return;
      rest = rest.subarray(missing);
      if (this.#read(buffer(this.#part.bytes())) > 0) this.#part = new ByteCollector(0);
    }
    rest = rest.subarray(this.#read(rest));
    if (rest.byteLength === 0) return;
    this.#part = new ByteCollector(HEADER_BYTES + MAX_MESSAGE_BYTES, this.#wanted);
    this.#part.append(rest);
  }

  /** @returns how much of `data` is done with */
  #read(data: Buffer): number {
    for (let at = 0; ;) {
      this.#wanted = HEADER_BYTES;
      if (data.byteLength - at < HEADER_BYTES) return at;
      const length = data.readUInt32BE(at + 1);
      if (length > MAX_MESSAGE_BYTES) throw malformed('a message is too long');
      this.#wanted = HEADER_BYTES + length;
      if (data.byteLength - at < this.#wanted) return at;
      this.#message(data[at] as number, data.toString('utf8', at + HEADER_BYTES, at + this.#wanted));
      at += this.#wanted;
    }
  }

  #message(flags: number, text: string): void {
    if (flags & COMPRESSED) throw malformed('a message is compressed, which was not asked for');
    const message = asObject(parseJson(text));
    if (message === undefined) throw malformed('a message is not JSON');
    this.#emit({ isLast: (flags & LAST) !== 0, message });
  }
}

function buffer(data: Uint8Array): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

function malformed(what: string): SandboxError {
  return new SandboxError('provider', { detail: 'malformed_frame', effect: 'unknown', message: `E2B: ${what}` });
}
