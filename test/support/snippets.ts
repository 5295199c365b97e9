import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from './dist.js';

/** A file that a page shows: TypeScript that begins with a comment naming it. */
export interface Snippet {
  /** As `src/main.ts`. */
  readonly path: string;
  readonly text: string;
}

/** The pages that show code, by their paths in the repository. */
export function pages(): Map<string, string> {
  const guides = readdirSync(join(REPOSITORY, 'docs/guides')).map((name) => `docs/guides/${name}`);
  return new Map(['README.md', ...guides].map((path) => [path, readFileSync(join(REPOSITORY, path), 'utf8')]));
}

/** The fenced blocks of a language in a page of Markdown. */
export function blocks(page: string, language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, text = '']) => text);
}

/** @throws {Error} for a block without a name, and for two of one name */
export function snippets(texts: Iterable<string>): Snippet[] {
  const found = [...texts].flatMap((page) => blocks(page, 'ts')).map(named);
  const twice = found.find(({ path }, index) => found.findIndex((one) => one.path === path) !== index);
  if (twice) throw new Error(`two blocks are ${twice.path}`);
  return found;
}

function named(text: string): Snippet {
  const path = /^\/\/ (src\/[\w.-]+\.ts)\n/.exec(text)?.[1];
  if (path === undefined) throw new Error(`a block does not begin with its name, as // src/main.ts: ${text}`);
  return { path, text };
}
