import { createGunzip, createGzip } from 'node:zlib';
import { open, mkdir, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { Refusal } from '../kit/answer.js';
import { byteRange } from '../kit/byte-range.js';
import type { Exchange } from '../kit/exchange.js';
import { ConnectFailure } from './connect-protocol.js';
import { checkSignature, fileUser } from './envd-auth.js';
import { partsOf } from './multipart.js';
import { refusal } from './refusals.js';
import type { Sandbox } from './sandbox.js';
import type { UserFiles } from './user-files.js';
import { atLeast } from './version.js';

const BLOCK = 64 * 1024;

/** `POST /files`: in place, not at once, and with parents. The answer is JSON that calls itself text. */
export async function uploadFiles(exchange: Exchange, sandbox: Sandbox): Promise<void> {
  checkSignature(sandbox, exchange, 'write');
  const files = fileUser(sandbox, exchange);
  const type = exchange.headers['content-type'] ?? '';
  const path = exchange.query.get('path') || undefined;
  const body = contentOf(exchange);
  const done: Record<string, unknown>[] = [];
  const write = async (name: string, content: AsyncIterable<Buffer>) => {
    const shown = await onFile(name, async () => await writeFile(files, name, content));
    done.push({ path: shown, name: shown.slice(shown.lastIndexOf('/') + 1), type: 'file' });
  };
  if (/^application\/octet-stream\b/i.test(type) && atLeast(sandbox.settings.envdVersion, '0.5.7')) {
    if (path === undefined) throw refusal(400, 'path is required for a raw body');
    await write(path, body);
  } else if (/^multipart\/form-data\b/i.test(type)) {
    for await (const part of partsOf(body, type)) {
      if (part.name !== 'file') continue;
      const name = path ?? part.filename;
      if (done.some((other) => other['path'] === files.nameOf(name))) {
        throw refusal(400, `you cannot upload multiple files to the same path '${name}'`);
      }
      await write(name, part.content);
    }
  } else throw refusal(400, `unsupported content type '${type}'`);
  await exchange.reply({ status: 200, text: JSON.stringify(done) });
}

/** `GET /files` */
export async function downloadFile(exchange: Exchange, sandbox: Sandbox): Promise<void> {
  checkSignature(sandbox, exchange, 'read');
  const files = fileUser(sandbox, exchange);
  const path = exchange.query.get('path') ?? '';
  const encodings = exchange.headers['accept-encoding'] ?? '';
  if (/\bidentity\s*;\s*q=0(?:\.0*)?\s*(?:,|$)/.test(encodings) && !/\bgzip\b/.test(encodings)) {
    throw refusal(406, 'no acceptable encoding');
  }
  const file = await onFile(path, async () => {
    const source = await files.resolve(path);
    if ((await stat(source)).isDirectory()) throw refusal(400, `path '${path}' is a directory`);
    return await open(source, 'r');
  });
  try {
    await deliver(exchange, file, sandbox.settings.alternatives.downloadGzip && /\bgzip\b/.test(encodings));
  } finally {
    await file.close();
  }
}

async function deliver(exchange: Exchange, file: FileHandle, gzip: boolean): Promise<void> {
  const { size, mtime } = await file.stat();
  const range = byteRange(exchange.headers.range, size);
  const [from, to] = range ?? [0, size];
  const common = { 'content-disposition': 'inline', vary: 'Accept-Encoding' };
  if (range && (from >= size || from >= to)) {
    const headers = { ...common, 'content-range': `bytes */${size}` };
    return await exchange.reply({ status: 416, headers });
  }
  if (!range && gzip) {
    const headers = { ...common, 'content-type': 'application/octet-stream', 'content-encoding': 'gzip' };
    await exchange.begin(200, headers);
    const packed = Readable.from(blocks(file, from, to)).pipe(createGzip());
    for await (const chunk of packed as AsyncIterable<Buffer>) await exchange.write(chunk);
    return await exchange.end();
  }
  await exchange.begin(range ? 206 : 200, {
    ...common,
    'content-type': 'application/octet-stream',
    'accept-ranges': 'bytes',
    'content-length': to - from,
    'last-modified': mtime.toUTCString(),
    ...(range && { 'content-range': `bytes ${from}-${to - 1}/${size}` }),
  });
  let sent = 0;
  for await (const block of blocks(file, from, to)) {
    if (exchange.gone) return undefined;
    await exchange.write(block);
    sent += block.length;
  }
  // The file became shorter meanwhile.
  if (sent < to - from) return exchange.cut();
  return await exchange.end();
}

async function* blocks(file: FileHandle, from: number, to: number): AsyncGenerator<Buffer> {
  for (let at = from; at < to;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(BLOCK, to - at)), 0, undefined, at);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    at += bytesRead;
  }
}

/** @returns how the sandbox names the file */
async function writeFile(files: UserFiles, path: string, content: AsyncIterable<Buffer>): Promise<string> {
  const target = await files.resolve(path);
  const there = await stat(target).catch(() => undefined);
  if (there?.isDirectory()) throw refusal(400, `path '${path}' is a directory`);
  await files.disk.change(() => mkdir(dirname(target), { recursive: true }));
  const file = await open(target, 'w', 0o666);
  try {
    for await (const chunk of content) await file.writeFile(chunk);
  } finally {
    await file.close();
  }
  return files.nameOf(path);
}

function contentOf(exchange: Exchange): AsyncIterable<Buffer> {
  if (exchange.headers['content-encoding'] !== 'gzip') return exchange.chunks();
  return Readable.from(exchange.chunks()).pipe(createGunzip());
}

async function onFile<T>(path: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof Refusal) throw error;
    if (error instanceof ConnectFailure) throw refusal(400, error.message);
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw refusal(404, `path '${path}' does not exist`);
    if (code === 'ENOSPC') throw refusal(507, 'not enough disk space available');
    if (code === undefined) throw error;
    throw refusal(500, `error on path '${path}': ${code}`);
  }
}
