import { isBuiltin } from 'node:module';
import { isSpec, type Files } from './files.js';
import { edges, isPackage, unitOf, type Edge } from './modules.js';

/** Each group may import only from groups above it, and its members not from each other. */
const GROUPS: readonly (readonly string[])[] = [
  ['libs/contract'],
  ['libs/protocol', 'libs/process'],
  ['libs/conformance', 'libs/testing', 'libs/emulators'],
  ['src/common'],
  ['src/runner', 'src/adapters'],
  ['src/sandbox', 'src/nats'],
  ['src/health', 'src/otel'],
  ['src'],
  ['apps/runner', 'apps/platform', 'apps/console'],
  ['test'],
];

/** Made for tests; what is shipped stands without it. */
const FOR_TESTS = new Set(GROUPS[2]);
/** `npm start` may show what is made for tests. */
const MAY_SHOW = 'apps/platform/src/start.ts';

/** Parts that are narrower than their place in the order: what of the repository and which packages they may import. */
const NARROW: Readonly<Record<string, { units?: readonly string[]; packages: readonly string[] }>> = {
  'libs/contract': { packages: ['rxjs'] },
  'libs/protocol': { packages: [] },
  'libs/process': { packages: [] },
  'apps/runner': { units: ['libs/contract', 'libs/protocol', 'libs/process'], packages: ['ws'] },
};

/** Of the contract these may name only the part without rxjs. */
const CORE_ONLY = new Set(['libs/protocol', 'libs/process', 'apps/runner']);

/** What stands in the way of the import order, one sentence each. */
export function orderFaults(files: Files): string[] {
  const known = new Set(GROUPS.flat());
  const homeless = [...new Set([...files.keys()].map(unitOf))].filter((unit) => !known.has(unit) && unit.includes('/'));
  return [
    ...homeless.map((unit) => `${unit} has no place in the import order`),
    ...edges(files).flatMap((edge) => faults(edge).map((fault) => `${edge.from}:${edge.line} ${fault}`)),
  ];
}

function faults(edge: Edge): string[] {
  return isPackage(edge.to)
    ? packageFaults(edge)
    : [...formFaults(edge), ...(isSpec(edge.from) ? [] : unitFaults(edge))];
}

function packageFaults({ from, to, specifier }: Edge): string[] {
  if (isBuiltin(to)) return to.startsWith('node:') ? [] : [`imports ${to} without node:`];
  if (isSpec(from) || unitOf(from) === 'test') return [];
  if (to === '@jest/globals') return ['imports jest outside a spec'];
  const allowed = NARROW[unitOf(from)]?.packages;
  return allowed && !allowed.includes(to) ? [`imports the package ${specifier}`] : [];
}

/** By which name a file is imported: by path within its unit, by the name of its lib from elsewhere. */
function formFaults({ from, to, specifier }: Edge): string[] {
  const [here, there] = [unitOf(from), unitOf(to)];
  const relative = specifier.startsWith('.');
  if (here === there) return relative || here === 'test' ? [] : [`imports its own ${there} by name`];
  const aliased = specifier.startsWith('#libs/');
  if (aliased && !/^#libs\/(?:[a-z]+|contract\/core)$/.test(specifier))
    return [`reaches into ${there} by ${specifier}`];
  if (relative && there.startsWith('libs/')) return [`imports ${there} by path`];
  if (relative && here !== 'test' && !(here.startsWith('src') && there.startsWith('src')))
    return [`imports ${to} by path`];
  if (specifier.startsWith('nestjs-sandbox') && !/^(?:apps|test)\b/.test(here)) return ['imports its own package'];
  if (CORE_ONLY.has(here) && specifier === '#libs/contract' && !isSpec(from)) return ['imports the contract with rxjs'];
  return [];
}

function unitFaults({ from, to }: Edge): string[] {
  const [here, there] = [unitOf(from), unitOf(to)];
  if (here === there) return [];
  if (FOR_TESTS.has(there) && /^(?:src|apps)\b/.test(here) && from !== MAY_SHOW)
    return [`imports ${there}, made for tests`];
  const allowed = NARROW[here]?.units;
  if (allowed && !allowed.includes(there)) return [`imports ${there}`];
  return rank(there) < rank(here) ? [] : [`imports ${there}, which is not above ${here}`];
}

function rank(unit: string): number {
  return GROUPS.findIndex((group) => group.includes(unit));
}
