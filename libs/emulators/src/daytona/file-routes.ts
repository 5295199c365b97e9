import { lstat, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Answer } from '../kit/answer.js';
import { deleteFile, makeFolder, moveFile, setPermissions } from './file-change.js';
import { FileCall } from './file-call.js';
import { downloadFile, downloadFiles } from './file-download.js';
import { fileInfo } from './file-info.js';
import { uploadFile, uploadFiles, uploadFormFile } from './file-upload.js';
import type { DaytonaSettings } from './options.js';
import type { ToolboxCall, ToolboxRoutes } from './toolbox-routes.js';

export function addFileRoutes(routes: ToolboxRoutes, { alternatives }: DaytonaSettings): void {
  routes.add('GET', '/files', listFiles);
  routes.add('DELETE', '/files', deleteFile);
  routes.add('GET', '/files/info', showFile);
  routes.add('GET', '/files/download', downloadFile);
  routes.add('POST', '/files/bulk-download', downloadFiles);
  if (alternatives.daemon === 'current') routes.add('POST', '/files/upload-v2', uploadFile);
  else routes.add('POST', '/files/upload', uploadFormFile);
  routes.add('POST', '/files/bulk-upload', uploadFiles);
  routes.add('POST', '/files/folder', makeFolder);
  routes.add('POST', '/files/permissions', setPermissions);
  routes.add('POST', '/files/move', moveFile);
}

async function listFiles(call: ToolboxCall): Promise<Answer> {
  const asked = new FileCall(call);
  const path = call.exchange.query.get('path') || '.';
  const depth = Number(call.exchange.query.get('depth') ?? 1);
  const list = async (located: string, name: string, left: number): Promise<object[]> => {
    const found: object[] = [];
    for (const entry of (await readdir(located)).toSorted()) {
      const stats = await lstat(join(located, entry));
      found.push(fileInfo(entry, join(name, entry), stats));
      if (stats.isDirectory() && left > 1) {
        found.push(...(await list(join(located, entry), join(name, entry), left - 1)));
      }
    }
    return found;
  };
  return { status: 200, json: await asked.on(path, async (located) => await list(located, path, depth)) };
}

async function showFile(call: ToolboxCall): Promise<Answer> {
  const asked = new FileCall(call);
  const path = asked.path();
  const info = await asked.on(path, async (located) => fileInfo(basename(path), path, await stat(located)));
  return { status: 200, json: info };
}
