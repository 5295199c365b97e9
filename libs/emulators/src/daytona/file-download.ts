import { open, stat, type FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { byteRange } from '../kit/byte-range.js';
import type { Exchange } from '../kit/exchange.js';
import { daemonAnswer, DaemonFailure } from './daemon-failure.js';
import { FileCall } from './file-call.js';
import { daemonBody, type ToolboxCall } from './toolbox-routes.js';

const BLOCK = 64 * 1024;
const BOUNDARY = 'DAYTONA-FILE-BOUNDARY';

/** `GET /files/download`: the bytes, or a range of them. */
export async function downloadFile(call: ToolboxCall): Promise<void> {
  const asked = new FileCall(call);
  const { exchange, sandbox } = call;
  const path = asked.path();
  const file = await asked.on(path, async (located) => {
    if ((await stat(located)).isDirectory()) throw asked.failure('EISDIR', path);
    return await open(located, 'r');
  });
  try {
    const { size, mtime } = await file.stat();
    const range = sandbox.settings.alternatives.range ? byteRange(exchange.headers.range, size) : undefined;
    const [from, to] = range ?? [0, size];
    if (range && (from > to || from >= size)) {
      return await exchange.reply({ status: 416, headers: { 'content-range': `bytes */${size}` } });
    }
    await exchange.begin(range ? 206 : 200, {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${encodeURIComponent(basename(path))}"`,
      'content-length': to - from,
      'last-modified': mtime.toUTCString(),
      ...(range && { 'content-range': `bytes ${from}-${to - 1}/${size}` }),
    });
    await sendBytes(exchange, file, from, to);
    return await exchange.end();
  } finally {
    await file.close();
  }
}

/** `POST /files/bulk-download`: a part for each path, `file` or `error`. */
export async function downloadFiles(call: ToolboxCall): Promise<void> {
  const { exchange } = call;
  const { paths } = await daemonBody(exchange);
  const asked = new FileCall(call);
  if (!Array.isArray(paths) || paths.length === 0) throw asked.failure('EINVAL', 'paths');
  await exchange.begin(200, { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` });
  for (const path of paths as readonly string[]) await sendPart(asked, path);
  await exchange.write(`--${BOUNDARY}--\r\n`);
  await exchange.end();
}

async function sendPart(asked: FileCall, path: string): Promise<void> {
  const { exchange } = asked.call;
  const head = (name: string, type: string) =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; filename="${path}"\r\nContent-Type: ${type}\r\n\r\n`;
  let file: FileHandle | undefined;
  try {
    file = await asked.on(path, async (located) => {
      if ((await stat(located)).isDirectory()) throw asked.failure('EISDIR', path);
      return await open(located, 'r');
    });
    await exchange.write(head('file', 'application/octet-stream'));
    await sendBytes(exchange, file, 0, (await file.stat()).size);
  } catch (error) {
    await exchange.write(errorPart(error, head, asked));
  } finally {
    await file?.close();
  }
  await exchange.write('\r\n');
}

/** The old daemon has a text. */
function errorPart(error: unknown, head: (name: string, type: string) => string, { call }: FileCall): string {
  const { alternatives } = call.sandbox.settings;
  if (!(error instanceof DaemonFailure)) return `${head('error', 'text/plain; charset=utf-8')}cannot be read`;
  const { json } = daemonAnswer(error, { method: 'POST', path: '/files/bulk-download' }, alternatives.daemon);
  return `${head('error', 'application/json')}${JSON.stringify(json)}`;
}

async function sendBytes(exchange: Exchange, file: FileHandle, from: number, to: number): Promise<void> {
  for (let at = from; at < to && !exchange.gone;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(BLOCK, to - at)), 0, undefined, at);
    if (bytesRead === 0) return exchange.cut();
    await exchange.write(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  return undefined;
}
