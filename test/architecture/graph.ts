import type { Files } from './files.js';
import { edges, type Edge } from './modules.js';

/** Which imports lead on: all that are loaded, or also those that only types need. */
export type Depth = 'loaded' | 'types';

/** The files and packages that a file brings in, each with the import that leads to it on a shortest way. */
export function reach(files: Files, entry: string, depth: Depth): ReadonlyMap<string, Edge | undefined> {
  const graph = graphOf(files, depth);
  const seen = new Map<string, Edge | undefined>([[entry, undefined]]);
  for (const path of seen.keys()) {
    for (const edge of graph.get(path) ?? []) if (!seen.has(edge.to)) seen.set(edge.to, edge);
  }
  return seen;
}

/** Ways from `entry` to what matches `forbidden`, as `a > b > c`. */
export function waysTo(files: Files, entry: string, forbidden: RegExp, depth: Depth): string[] {
  if (!files.has(entry)) return [`${entry} does not exist`];
  const seen = reach(files, entry, depth);
  return [...seen.keys()].filter((path) => forbidden.test(path)).map((path) => way(seen, path).join(' > '));
}

function way(seen: ReadonlyMap<string, Edge | undefined>, to: string): string[] {
  const edge = seen.get(to);
  return edge ? [...way(seen, edge.from), to] : [to];
}

/** Cycles of imports, each once, as `a > b > a`. */
export function cycles(files: Files, depth: Depth): string[] {
  const graph = graphOf(files, depth);
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) found.push([...trail.slice(start), path].join(' > '));
    if (start >= 0 || done.has(path)) return;
    for (const edge of graph.get(path) ?? []) visit(edge.to, [...trail, path]);
    done.add(path);
  };
  for (const path of files.keys()) visit(path, []);
  return found;
}

function graphOf(files: Files, depth: Depth): Map<string, Edge[]> {
  const graph = new Map<string, Edge[]>([...files.keys()].map((path) => [path, []]));
  for (const edge of edges(files)) if (depth === 'types' || !edge.typeOnly) graph.get(edge.from)?.push(edge);
  return graph;
}
