// A process that holds idle runners: the library's platform, or a bare `ws` server that pings as often.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocketServer, type WebSocket } from 'ws';
import { answer } from './helper.js';
import { startPlatform, type Runner } from './platform.js';

const PING_MS = 20_000;
/** Weighed at this distance until so many in a row agree: a process gives memory back long after it let go of it. */
const WEIGH_EVERY_MS = 250;
const AGREEING = 4;
const AGREE_BYTES = 256 * 1024;
const MAX_WEIGHINGS = 40;

export type IdleQuestion =
  | { readonly op: 'listen'; readonly kind: 'platform' | 'bare'; readonly runners: readonly Runner[] }
  | { readonly op: 'look' }
  | { readonly op: 'weigh' };

export interface IdleListening {
  readonly url: string;
}

export interface IdleLook {
  readonly connected: number;
  /** What the process has worked up to now. */
  readonly cpuMs: number;
}

/** What the process weighs after garbage collection. */
export interface IdleWeight {
  readonly rssBytes: number;
}

let connected: () => Promise<number>;

answer(async (asked): Promise<IdleListening | IdleLook | IdleWeight> => {
  const question = asked as IdleQuestion;
  if (question.op === 'look') return look();
  if (question.op === 'weigh') return weigh();
  return { url: question.kind === 'bare' ? await listenBare() : await listenPlatform(question.runners) };
});

async function listenPlatform(runners: readonly Runner[]): Promise<string> {
  const { url, host } = await startPlatform(runners);
  connected = async () => (await host.online()).length;
  return url;
}

async function listenBare(): Promise<string> {
  const http = createServer();
  const server = new WebSocketServer({ server: http, perMessageDeflate: false });
  server.on('connection', (socket: WebSocket) => {
    const ping = setInterval(() => socket.ping(), PING_MS);
    socket.on('close', () => clearInterval(ping));
    socket.on('message', () => {});
    socket.on('error', () => {});
  });
  connected = async () => server.clients.size;
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

async function look(): Promise<IdleLook> {
  const { user, system } = process.cpuUsage();
  return { connected: await connected(), cpuMs: (user + system) / 1e3 };
}

async function weigh(): Promise<IdleWeight> {
  const weights: number[] = [];
  while (weights.length < MAX_WEIGHINGS) {
    globalThis.gc?.();
    await delay(WEIGH_EVERY_MS);
    weights.push(process.memoryUsage.rss());
    const last = weights.slice(-AGREEING);
    if (last.length === AGREEING && Math.max(...last) - Math.min(...last) <= AGREE_BYTES) break;
  }
  return { rssBytes: weights.at(-1) as number };
}
