import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { render, Refusal, type Answer } from './answer.js';
import type { WritableCall } from './call.js';
import { NoOutput, type Output } from './output.js';

const MIB = 1024 * 1024;
/** Longer JSON is not kept in the call log. */
const LOGGED_JSON_BYTES = 64 * 1024;

/** One request to a route. */
export class Exchange {
  #answered = false;

  constructor(
    readonly call: WritableCall,
    readonly params: Readonly<Record<string, string>>,
    private readonly request: IncomingMessage,
    private readonly output: Output,
    /** Aborted when the emulator closes. */
    readonly closing: AbortSignal,
  ) {}

  get query(): URLSearchParams {
    return this.call.query;
  }

  get headers(): IncomingMessage['headers'] {
    return this.request.headers;
  }

  /** Whether an answer has begun. */
  get answered(): boolean {
    return this.#answered;
  }

  /** Whether a fault hides the answer: nobody waits for its end. */
  get unheard(): boolean {
    return this.output instanceof NoOutput;
  }

  /** Whether the client hung up. */
  get gone(): boolean {
    return this.output.gone;
  }

  /** The body as it arrives, at the pace at which it is taken. */
  async *chunks(): AsyncGenerator<Buffer> {
    for await (const chunk of this.request as AsyncIterable<Buffer>) {
      this.call.bodyBytes += chunk.length;
      yield chunk;
    }
  }

  /** The whole body. @throws {Refusal} 413 */
  async body(maxBytes = 16 * MIB): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of this.chunks()) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw new Refusal({ status: 413, json: { error: 'request body too large' } });
      chunks.push(chunk);
    }
    const body = Buffer.concat(chunks);
    if (/\bjson\b/.test(this.headers['content-type'] ?? '') && bytes <= LOGGED_JSON_BYTES) {
      const json = parsed(body);
      if (json !== undefined) this.call.json = json;
    }
    return body;
  }

  /** The body as JSON, `undefined` when there is none. @throws {Refusal} 400 */
  async json(): Promise<unknown> {
    const body = await this.body();
    if (body.length === 0) return undefined;
    const json = parsed(body);
    if (json === undefined) throw new Refusal({ status: 400, json: { error: 'invalid JSON' } });
    return json;
  }

  /** Answers at once with everything. */
  async reply(answer: Answer): Promise<void> {
    const { status, headers, body } = render(answer);
    await this.send(status, headers, body);
  }

  async send(status: number, headers: OutgoingHttpHeaders, body: Uint8Array): Promise<void> {
    const empty = status === 204 || status === 304;
    await this.begin(status, empty ? headers : { ...headers, 'content-length': body.length });
    if (this.call.method !== 'HEAD' && !empty) await this.write(body);
    await this.end();
  }

  /** Begins a streamed answer. */
  async begin(status: number, headers: OutgoingHttpHeaders = {}): Promise<void> {
    this.#answered = true;
    this.call.status = status;
    await this.output.head(status, headers);
  }

  /** One chunk. Resolves when there is room for the next. */
  async write(chunk: Uint8Array | string): Promise<void> {
    await this.output.write(typeof chunk === 'string' ? Buffer.from(chunk) : chunk);
  }

  async end(): Promise<void> {
    await this.output.end();
  }

  /** Breaks the connection. */
  cut(): void {
    this.output.cut();
  }

  /** Once the answer is complete, or nobody reads it any more. */
  onGone(listener: () => void): void {
    this.output.onGone(listener);
  }

  /** Has what nobody asked for read, so that the connection can be used again. @internal */
  drain(): void {
    if (this.request.readableEnded || this.request.destroyed) return;
    this.request.on('data', (chunk: Buffer) => (this.call.bodyBytes += chunk.length));
  }
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
