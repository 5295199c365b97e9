import { chmod, chown, lstat, mkdir, rename, unlink } from 'node:fs/promises';
import { removeTree } from '#libs/process';
import type { Answer } from '../kit/answer.js';
import { DaemonFailure } from './daemon-failure.js';
import { FileCall } from './file-call.js';
import type { ToolboxCall } from './toolbox-routes.js';

export async function makeFolder(call: ToolboxCall): Promise<Answer> {
  const asked = new FileCall(call);
  const mode = asked.mode() ?? 0o755;
  await asked.on(asked.path(), async (located) => {
    await call.sandbox.files.change(() => mkdir(located, { recursive: true }));
    await chmod(located, mode);
  });
  return { status: 201 };
}

export async function setPermissions(call: ToolboxCall): Promise<Answer> {
  const asked = new FileCall(call);
  const mode = asked.mode();
  const [owner, group] = ['owner', 'group'].map((name) => idOf(call.exchange.query.get(name)));
  await asked.on(asked.path(), async (located) => {
    const stats = await lstat(located);
    if (mode !== undefined) await chmod(located, mode);
    if (owner !== undefined || group !== undefined) await chown(located, owner ?? stats.uid, group ?? stats.gid);
  });
  return { status: 200 };
}

/** Never onto something that is there. */
export async function moveFile(call: ToolboxCall): Promise<Answer> {
  const asked = new FileCall(call);
  const [source, destination] = [asked.path('source'), asked.path('destination')];
  await asked.on(
    source,
    async (from) => {
      const to = await asked.locate(destination, false);
      await lstat(from);
      const there = await lstat(to).then(
        () => true,
        () => false,
      );
      if (there) throw asked.failure('EEXIST', destination);
      await rename(from, to);
    },
    false,
  );
  return { status: 200 };
}

export async function deleteFile(call: ToolboxCall): Promise<Answer> {
  const asked = new FileCall(call);
  const path = asked.path();
  await asked.on(
    path,
    async (located) => {
      if (located === call.sandbox.files.directory) throw asked.failure('EACCES', path);
      if (!(await lstat(located)).isDirectory()) await unlink(located);
      else if (asked.flag('recursive')) await removeTree(located);
      else throw asked.failure('EISDIR', path);
    },
    false,
  );
  return { status: 204 };
}

/** Names are those of no one here: only numbers. @throws {DaemonFailure} 400 */
function idOf(text: string | null): number | undefined {
  if (!text) return undefined;
  if (!/^\d+$/.test(text)) throw new DaemonFailure(400, `unknown user or group: ${text}`);
  return Number(text);
}
