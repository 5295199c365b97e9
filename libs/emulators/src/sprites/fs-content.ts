import { open, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { byteRange } from '../kit/byte-range.js';
import { octal, type FsCall } from './fs-call.js';
import { fsFailure, onPath } from './fs-failure.js';
import { VM_HEADERS } from './vm.js';

const BLOCK = 64 * 1024;

/** `PUT /fs/write`: in place, through symlinks; the mode is set also of a file that was there. */
export async function writeFile(call: FsCall): Promise<void> {
  const path = call.path();
  const mode = call.mode() ?? 0o644;
  const size = await onPath(path, async () => {
    const target = await call.locate(path);
    const asked = call.flag('mkdirParents') || call.flag('mkdir');
    if (asked || call.sprite.settings.alternatives.parentDirectories === 'always') {
      await call.sprite.change(() => mkdir(dirname(target), { recursive: true }));
    }
    const file = await open(target, 'w', mode);
    try {
      let bytes = 0;
      for await (const chunk of call.exchange.chunks()) {
        await file.writeFile(chunk);
        bytes += chunk.length;
      }
      await file.chmod(mode);
      return bytes;
    } finally {
      await file.close();
    }
  });
  await call.answer({ path, size, mode: octal(mode) });
}

/** `GET /fs/read`: the bytes, or a range of them. */
export async function readFile(call: FsCall): Promise<void> {
  const path = call.path();
  const file = await onPath(path, async () => {
    const source = await call.locate(path);
    if ((await stat(source)).isDirectory()) throw fsFailure('EISDIR', path);
    return await open(source, 'r');
  });
  try {
    const { size } = await file.stat();
    const range = call.sprite.settings.alternatives.range ? byteRange(call.exchange.headers.range, size) : undefined;
    const [from, to] = range ?? [0, size];
    if (from > to || (range && from >= size)) {
      const headers = { ...VM_HEADERS, 'content-range': `bytes */${size}` };
      return await call.exchange.reply({ status: 416, headers });
    }
    await call.exchange.begin(range ? 206 : 200, {
      ...VM_HEADERS,
      'content-type': 'application/octet-stream',
      'content-length': to - from,
      ...(range && { 'content-range': `bytes ${from}-${to - 1}/${size}` }),
    });
    for (let at = from; at < to && !call.exchange.gone;) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(BLOCK, to - at)), 0, undefined, at);
      if (bytesRead === 0) return call.exchange.cut();
      await call.exchange.write(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
    return await call.exchange.end();
  } finally {
    await file.close();
  }
}
