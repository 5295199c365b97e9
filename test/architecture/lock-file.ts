import type { Manifest } from './manifest.js';

interface LockedPackage extends Manifest {
  readonly resolved?: string;
  readonly integrity?: string;
}

interface LockFile {
  readonly packages?: Readonly<Record<string, LockedPackage>>;
}

const KINDS = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'] as const;

/** What would make `npm ci` fail, or fetch from an address that is written down, one sentence each. */
export function lockFileFaults(lock: LockFile, manifest: Manifest): string[] {
  const { '': root, ...packages } = lock.packages ?? {};
  return [
    ...KINDS.filter((kind) => JSON.stringify(sorted(root?.[kind])) !== JSON.stringify(sorted(manifest[kind]))).map(
      (kind) => `${kind} are others than in package.json`,
    ),
    ...at(packages, (entry) => entry.resolved !== undefined).map((path) => `${path} has a download address`),
    ...at(packages, (entry) => !entry.integrity?.startsWith('sha512-')).map((path) => `${path} has no checksum`),
  ];
}

function at(packages: Readonly<Record<string, LockedPackage>>, faulty: (entry: LockedPackage) => boolean): string[] {
  return Object.keys(packages).filter((path) => faulty(packages[path] ?? {}));
}

function sorted(record: Readonly<Record<string, string>> = {}): [string, string][] {
  return Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
