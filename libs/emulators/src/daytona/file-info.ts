import type { Stats } from 'node:fs';

/** A file as the calls show it; owner and group are numbers as text. */
export function fileInfo(name: string, path: string, stats: Stats): Readonly<Record<string, unknown>> {
  const modified = stats.mtime.toISOString();
  return {
    name,
    path,
    size: stats.size,
    mode: modeText(stats),
    modTime: modified,
    modifiedAt: modified,
    isDir: stats.isDirectory(),
    owner: String(stats.uid),
    group: String(stats.gid),
    permissions: (stats.mode & 0o7777).toString(8).padStart(4, '0'),
  };
}

/** `-rw-r--r--` */
function modeText(stats: Stats): string {
  const kind = stats.isDirectory() ? 'd' : stats.isSymbolicLink() ? 'L' : stats.isFIFO() ? 'p' : '-';
  const bits = 'rwxrwxrwx'.split('').map((letter, at) => ((stats.mode >> (8 - at)) & 1 ? letter : '-'));
  return kind + bits.join('');
}
