import { blocks, pages } from '../support/snippets.js';

/** The lines of the README's shell blocks that begin with one of these words. */
export function readMeLines(...beginnings: readonly string[]): string[] {
  const lines = blocks(pages().get('README.md') ?? '', 'sh').flatMap((block) => block.split('\n'));
  const found = lines.filter((line) => beginnings.some((beginning) => line.startsWith(beginning)));
  if (found.length < beginnings.length) throw new Error(`the README has no line for ${beginnings.join(', ')}`);
  return found;
}

/** What the README tells to install beside the package itself, by name, with the version where it says one. */
export function readMePackages(): Map<string, string | undefined> {
  const words = readMeLines('npm install ./', 'npm install --save-dev').flatMap((line) => line.split(' ').slice(2));
  const names = words.filter((word) => !/^(?:-|\.\/)/.test(word));
  return new Map(names.map((word) => [word.replace(/(?<=.)@.*$/, ''), /(?<=.)@(.*)$/.exec(word)?.[1]]));
}
