import type { Exit } from '#libs/contract/core';
import type { OutputStream } from '../kit/emulated-process.js';
import type { Exchange } from '../kit/exchange.js';
import { exitFrame, outputFrames } from './exec-frames.js';
import { execRequestOf } from './exec-request.js';
import type { Fleet } from './fleet.js';
import { refusal } from './refusals.js';
import type { Session, SessionClient } from './session.js';
import { enterVm, VM_HEADERS } from './vm.js';

const FULL = 256 * 1024;

/** `POST /exec`: stdin is the body, and the answer is frames whose only boundaries are those of the HTTP chunks. */
export async function execPost(fleet: Fleet, exchange: Exchange): Promise<void> {
  const { sprite, leave } = await enterVm(fleet, exchange, true);
  try {
    const request = execRequestOf(exchange.query, sprite.settings);
    if (request.tty) throw refusal(400, 'tty is not supported over HTTP');
    const session = await sprite.sessions.start(request);
    if ('failed' in session) throw refusal(400, session.failed.startError ?? 'the command could not be started');
    await exchange.begin(200, { ...VM_HEADERS, 'content-type': 'application/octet-stream' });
    const client = new HttpClient(exchange);
    session.attach(client, (stream, data) => client.output(stream, data));
    if (request.stdin) void feed(exchange, session);
    await sprite.sessions.serve(client, client.done);
    session.detach(client);
  } finally {
    leave();
  }
}

async function feed(exchange: Exchange, session: Session): Promise<void> {
  try {
    for await (const chunk of exchange.chunks()) await session.process.write(chunk);
  } catch {
    // The client hung up in the middle of its body.
  }
  await session.process.closeStdin();
}

class HttpClient implements SessionClient {
  #queued = 0;
  #last: Promise<void> = Promise.resolve();
  #finish: () => void = () => {};
  /** Resolves when the answer has ended, or nobody reads it. */
  readonly done = new Promise<void>((resolve) => (this.#finish = resolve));

  constructor(private readonly exchange: Exchange) {
    exchange.onGone(() => this.#finish());
    const { closing } = exchange;
    const finish = () => this.#finish();
    closing.addEventListener('abort', finish);
    void this.done.then(() => closing.removeEventListener('abort', finish));
  }

  output(stream: OutputStream, data: Buffer): void {
    for (const frame of outputFrames(stream, data)) this.#put(frame);
  }

  room(): Promise<void> | undefined {
    return this.#queued > FULL ? this.#last : undefined;
  }

  exited(): void {}

  ended({ exitCode }: Exit): void {
    this.#put(exitFrame(exitCode));
    void this.#last.then(async () => await this.exchange.end()).finally(this.#finish);
  }

  drop(): void {
    this.exchange.cut();
    this.#finish();
  }

  #put(frame: Buffer): void {
    this.#queued += frame.length;
    this.#last = this.#last
      .then(async () => await this.exchange.write(frame))
      .catch(() => {})
      .finally(() => (this.#queued -= frame.length));
  }
}
