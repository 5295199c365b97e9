import type { PublicExport } from './public-api.js';

/** Where the report of an entry lies: `./runner` is `docs/api/runner.md`. */
export function apiPath(entry: string): string {
  return `docs/api/${entry === '.' ? 'index' : entry.slice(2)}.md`;
}

/** What an entry exports; `earlier` are the names that entries before it have shown. */
export function apiPage(
  entry: string,
  exports: readonly PublicExport[],
  earlier: ReadonlyMap<string, string> = new Map(),
): string {
  const own = exports.filter(({ name }) => !earlier.has(name));
  const again = exports.filter(({ name }) => earlier.has(name)).map(({ name }) => `\`${name}\``);
  const unexported = [...new Set(own.flatMap((one) => one.unexported))].toSorted().map((name) => `\`${name}\``);
  return [
    `# ${nameOf(entry)}`,
    ...(again.length > 0 ? [`As \`${earlierEntry(earlier, exports)}\`: ${again.join(', ')}.`] : []),
    ...part(
      'Values',
      own.filter(({ isValue }) => isValue),
    ),
    ...part(
      'Types',
      own.filter(({ isValue }) => !isValue),
    ),
    ...(unexported.length > 0 ? ['## Named here, exported nowhere', `${unexported.join(', ')}.`] : []),
  ].join('\n\n');
}

export function nameOf(entry: string): string {
  return entry.replace(/^\./, 'nestjs-sandbox');
}

function part(title: string, exports: readonly PublicExport[]): string[] {
  if (exports.length === 0) return [];
  return [`## ${title}`, `\`\`\`ts\n${exports.map(({ text }) => text).join('\n\n')}\n\`\`\``];
}

function earlierEntry(earlier: ReadonlyMap<string, string>, exports: readonly PublicExport[]): string {
  return [...new Set(exports.flatMap(({ name }) => earlier.get(name) ?? []))].join('`, `');
}
