import type { Files } from './files.js';

/** Written in halves, so that this file does not hold them. */
const FORBIDDEN = [
  ['../sha', 'red'],
  ['/wo', 'rk/'],
  ['registry.np', 'mjs'],
  ['registry.yar', 'npkg'],
  ['npm', 'mirror'],
  ['helper ses', 'sion'],
  ['design', '.md'],
  ['tool', 'chain.md'],
  ['cases/public-', 'bugs'],
  ['issues sh', 'ow'],
].map((halves) => halves.join(''));

/** Lines with a word that belongs to a workplace or to one download server, not to the project. */
export function wordFaults(files: Files): string[] {
  return [...files].flatMap(([path, text]) =>
    text.split('\n').flatMap((line, index) => {
      const found = FORBIDDEN.filter((word) => line.toLowerCase().includes(word));
      return found.map((word) => `${path}:${index + 1} says ${word}`);
    }),
  );
}
