import { SandboxError } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { bodyOf, unconfirmed } from '../common/failed-answer.js';
import type { HttpAnswer } from '../common/http-client.js';
import { asObject } from '../common/json.js';
import { newNonce } from '../common/session-id.js';
import { cleanUp } from './daytona.clean-up.js';
import type { InSandbox } from './daytona.context.js';
import { toolboxError } from './daytona.errors.js';

/**
 * `work` with bytes that were put into a file of our own, by the one call that old daemons and new ones have. Where it
 * fails the file is removed, else it has been moved away.
 *
 * @param work given the file's path below the home directory
 * @throws {SandboxError} with effect `none` when the file could not be put there
 */
export async function withStaged<T>(
  context: InSandbox,
  bytes: Uint8Array,
  { token, deadline, wake }: { readonly token: string; readonly deadline: Deadline; readonly wake: boolean },
  work: (staged: string) => Promise<T>,
): Promise<T> {
  try {
    const staged = await upload(context, token, bytes, deadline, wake).catch((error: unknown) => {
      throw error instanceof SandboxError ? error.with({ effect: 'none' }) : error;
    });
    return await work(staged);
  } catch (error) {
    void cleanUp(context, [`staged/${token}`]);
    throw error;
  }
}

async function upload(
  { toolboxes, handle }: InSandbox,
  token: string,
  bytes: Uint8Array,
  deadline: Deadline,
  wake: boolean,
): Promise<string> {
  const path = `.nestjs-sandbox/staged/${token}`;
  const toolbox = await toolboxes.ready(handle, deadline, wake);
  const { type, body } = form(`${toolbox?.home ?? ''}/${path}`, bytes);
  const answer = await toolboxes.call(
    handle,
    { method: 'POST', path: '/files/bulk-upload', headers: { 'content-type': type }, body, deadline },
    { again: true, wake },
  );
  if (answer === undefined) throw notRunning();
  if (saysNotPut(answer)) throw notPut();
  if (!answer.ok) throw toolboxError(answer);
  const files = asObject(answer.json())?.['files'];
  const written = Array.isArray(files) ? asObject(files[0])?.['bytes'] : undefined;
  if (written !== undefined && written !== bytes.byteLength) throw unconfirmed('the upload');
  return path;
}

function form(path: string, bytes: Uint8Array): { readonly type: string; readonly body: Uint8Array<ArrayBuffer> } {
  const boundary = `nestjs-sandbox-${newNonce()}`;
  const head = [
    `--${boundary}`,
    'Content-Disposition: form-data; name="files[0].path"',
    '',
    path,
    `--${boundary}`,
    'Content-Disposition: form-data; name="files[0].file"; filename="file"',
    'Content-Type: application/octet-stream',
    '',
    '',
  ].join('\r\n');
  const body = Buffer.concat([Buffer.from(head), bytes, Buffer.from(`\r\n--${boundary}--\r\n`)]);
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    body: new Uint8Array(body.buffer, body.byteOffset, body.byteLength),
  };
}

/** Whether the daemon says of the file, not of the request, that it failed. */
function saysNotPut(answer: HttpAnswer): boolean {
  return answer.status === 400 && Array.isArray(bodyOf(answer)?.['errors']);
}

function notPut(): SandboxError {
  return new SandboxError('unavailable', {
    effect: 'none',
    message: 'the sandbox could not put the content into a file in its home directory',
  });
}

function notRunning(): SandboxError {
  return new SandboxError('unavailable', { effect: 'none', message: 'the sandbox does not run' });
}
