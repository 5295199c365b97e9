import { refusal } from './refusals.js';

/** One part of a form. */
export interface Part {
  readonly name: string;
  readonly filename: string;
  /** To be read to its end before the next part is asked for. */
  readonly content: AsyncIterable<Buffer>;
}

const BREAK = Buffer.from('\r\n');
const HEAD_END = Buffer.from('\r\n\r\n');

/** The parts of a `multipart/form-data` body, as they arrive. @throws {Refusal} 500 when it cannot be read */
export async function* partsOf(body: AsyncIterable<Buffer>, contentType: string): AsyncGenerator<Part> {
  const boundary = /boundary=(?:"([^"]+)"|([^;\s]+))/i.exec(contentType)?.slice(1).find(Boolean);
  if (boundary === undefined) throw unreadable();
  const input = new Input(body);
  // Every boundary but the first begins with the end of a line.
  input.prepend(BREAK);
  const mark = Buffer.from(`\r\n--${boundary}`);
  await drained(input.until(mark));
  for (;;) {
    if ((await input.take(2)).toString() === '--') return;
    const head = (await input.head(HEAD_END)).toString('utf8');
    const disposition = /^content-disposition:.*$/im.exec(head)?.[0] ?? '';
    const content = input.until(mark);
    yield { name: parameter(disposition, 'name'), filename: parameter(disposition, 'filename'), content };
    await drained(content);
  }
}

async function drained(content: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of content) continue;
}

function parameter(disposition: string, name: string): string {
  const text = new RegExp(`[;\\s]${name}="((?:[^"\\\\]|\\\\.)*)"`, 'i').exec(disposition)?.[1] ?? '';
  // Browsers and Node escape these three; others use a backslash.
  return text
    .replaceAll('%22', '"')
    .replaceAll('%0D', '\r')
    .replaceAll('%0A', '\n')
    .replaceAll(/\\(["\\])/g, '$1');
}

function unreadable(): Error {
  return refusal(500, 'error parsing multipart form');
}

/** Bytes of which some are looked at before they are taken. */
class Input {
  #bytes: Buffer = Buffer.alloc(0);
  readonly #source: AsyncIterator<Buffer>;

  constructor(body: AsyncIterable<Buffer>) {
    this.#source = body[Symbol.asyncIterator]();
  }

  prepend(bytes: Buffer): void {
    this.#bytes = Buffer.concat([bytes, this.#bytes]);
  }

  async take(length: number): Promise<Buffer> {
    while (this.#bytes.length < length) await this.#more();
    return this.#cut(length);
  }

  async head(end: Buffer): Promise<Buffer> {
    let at = this.#bytes.indexOf(end);
    while (at === -1) {
      await this.#more();
      at = this.#bytes.indexOf(end);
    }
    return this.#cut(at + end.length);
  }

  /** What comes before `mark`, which is taken too. Once it was read, it is empty. */
  until(mark: Buffer): AsyncIterable<Buffer> {
    const generator = this.#until(mark);
    return { [Symbol.asyncIterator]: () => ({ next: async () => await generator.next() }) };
  }

  async *#until(mark: Buffer): AsyncGenerator<Buffer> {
    for (;;) {
      const at = this.#bytes.indexOf(mark);
      if (at !== -1) {
        if (at > 0) yield this.#cut(at);
        this.#cut(mark.length);
        return;
      }
      const safe = this.#bytes.length - mark.length;
      if (safe > 0) yield this.#cut(safe);
      await this.#more();
    }
  }

  #cut(length: number): Buffer {
    const taken = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    return taken;
  }

  async #more(): Promise<void> {
    const { done, value } = await this.#source.next();
    if (done) throw unreadable();
    this.#bytes = Buffer.concat([this.#bytes, value]);
  }
}
