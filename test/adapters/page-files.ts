import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from '../support/dist.js';
import { blocks, type Snippet } from '../support/snippets.js';

/** `docs/adapters.md`. */
export function adaptersPage(): string {
  return readFileSync(join(REPOSITORY, 'docs/adapters.md'), 'utf8');
}

/**
 * The files that a page shows in pieces: a block begins with `// src/a.ts`, the next of the same file with
 * `// src/a.ts, continued`. What begins with its name alone keeps it only in the page.
 *
 * @throws {Error} for a block that is of no file, or that continues none
 */
export function filesIn(page: string): Snippet[] {
  const files = new Map<string, string[]>();
  for (const block of blocks(page, 'ts')) {
    const [line = '', path = '', continued] = /^\/\/ (src\/[\w.-]+\.ts)(, continued)?\n/.exec(block) ?? [];
    const pieces = files.get(path);
    if (line === '' || (pieces === undefined) !== (continued === undefined)) {
      throw new Error(`a block begins with no name, or with one out of turn: ${block.slice(0, 80)}`);
    }
    files.set(path, [...(pieces ?? []), block.slice(line.length)]);
  }
  return [...files].map(([path, pieces]) => ({ path, text: pieces.join('\n') }));
}
