import { mkdir, open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { Answer } from '../kit/answer.js';
import type { Exchange } from '../kit/exchange.js';
import { BareFailure, DaemonFailure } from './daemon-failure.js';
import { FileCall } from './file-call.js';
import type { ToolboxCall } from './toolbox-routes.js';

const MOST_FORM_BYTES = 256 * 1024 * 1024;

/** `POST /files/upload-v2`: a form with a `file`, or the bytes themselves. */
export async function uploadFile(call: ToolboxCall): Promise<Answer> {
  const { exchange } = call;
  const asked = new FileCall(call);
  const path = asked.path();
  const content = isForm(exchange) ? [await fileIn(await formOf(exchange))] : exchange.chunks();
  await put(asked, path, content);
  return { status: 200, json: { name: basename(path), path, type: 'file' } };
}

/** `POST /files/upload` of the old daemon: a form with a `file`. */
export async function uploadFormFile(call: ToolboxCall): Promise<Answer> {
  const asked = new FileCall(call);
  const path = asked.path();
  if (!isForm(call.exchange)) throw new BareFailure({ status: 400 });
  const content = [await fileIn(await formOf(call.exchange))];
  try {
    await put(asked, path, content);
  } catch {
    throw new BareFailure({ status: 400 });
  }
  return { status: 200 };
}

/** `POST /files/bulk-upload`: pairs of `files[i].path` and `files[i].file`. */
export async function uploadFiles(call: ToolboxCall): Promise<Answer> {
  const asked = new FileCall(call);
  const form = await formOf(call.exchange);
  const files: { readonly path: string; readonly bytes: number }[] = [];
  const errors: string[] = [];
  for (const [name, value] of form) {
    const [, index] = /^files\[(\d+)\]\.file$/.exec(name) ?? [];
    if (index === undefined) continue;
    const path = form.get(`files[${index}].path`);
    if (typeof path !== 'string' || typeof value === 'string') {
      errors.push(`files[${index}]: missing path or file`);
      continue;
    }
    try {
      files.push({ path, bytes: await put(asked, path, [Buffer.from(await value.arrayBuffer())]) });
    } catch (error) {
      call.signal.throwIfAborted();
      errors.push(`${path}: ${(error as Error).message}`);
    }
  }
  return errors.length > 0 ? { status: 400, json: { errors, files } } : { status: 200, json: { files } };
}

/** Writes into the file itself, byte by byte as they come; its mode stays, that of a new one is by the umask. */
async function put(asked: FileCall, path: string, content: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<number> {
  return await asked.on(path, async (located) => {
    await asked.call.sandbox.files.change(() => mkdir(dirname(located), { recursive: true }));
    const file = await open(located, 'w', 0o644);
    try {
      let bytes = 0;
      for await (const chunk of content) {
        await file.writeFile(chunk);
        bytes += chunk.length;
      }
      return bytes;
    } finally {
      await file.close();
    }
  });
}

function isForm({ headers }: Exchange): boolean {
  return (headers['content-type'] ?? '').startsWith('multipart/form-data');
}

/** @throws {DaemonFailure} 400 */
async function formOf(exchange: Exchange): Promise<FormData> {
  const body = await exchange.body(MOST_FORM_BYTES);
  const headers = { 'content-type': exchange.headers['content-type'] ?? '' };
  try {
    return await new Response(new Uint8Array(body), { headers }).formData();
  } catch {
    throw new DaemonFailure(400, 'invalid multipart form', 'INVALID_REQUEST_BODY');
  }
}

/** @throws {DaemonFailure} 400 */
async function fileIn(form: FormData): Promise<Buffer> {
  const file = form.get('file');
  if (file === null) throw new DaemonFailure(400, 'file is required', 'INVALID_REQUEST_BODY');
  return typeof file === 'string' ? Buffer.from(file) : Buffer.from(await file.arrayBuffer());
}
