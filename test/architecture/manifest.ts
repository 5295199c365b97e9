import type { Files } from './files.js';

export interface Manifest {
  readonly type?: string;
  readonly license?: string;
  readonly engines?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly imports?: Readonly<Record<string, string>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly files?: readonly string[];
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const RUN_AT_INSTALL = ['preinstall', 'install', 'postinstall', 'prepare'];
/** Everything built, without the apps that are not for others, without maps and the compiler's record. */
const SHIPPED = ['dist', '!dist/apps/platform', '!dist/**/*.map', '!dist/*.tsbuildinfo'];

/** What is wrong with the package as it would be published, one sentence each. */
export function manifestFaults(manifest: Manifest, files: Files): string[] {
  return [
    ...(manifest.type === 'module' ? [] : ['the package is not ESM']),
    ...(manifest.license === 'Apache-2.0' && files.get('LICENSE')?.includes('Apache License') ? [] : ['no licence']),
    ...(manifest.engines?.['node'] === '^20.19.0 || ^22.12.0 || >=24.0.0' ? [] : ['engines differ from the set-up']),
    ...(JSON.stringify(manifest.files) === JSON.stringify(SHIPPED) ? [] : ['other files are shipped']),
    ...RUN_AT_INSTALL.filter((name) => manifest.scripts?.[name]).map((name) => `${name} runs at an install`),
    ...(manifest.scripts?.['prepack']?.startsWith('npm run build && ') ? [] : ['it is packed without a build']),
    ...(isSlimmed(manifest) ? [] : ['it is not packed as it is tested']),
    ...Object.keys(manifest.peerDependencies ?? {})
      .filter((name) => manifest.peerDependenciesMeta?.[name]?.optional !== true)
      .map((name) => `the peer ${name} is not optional`),
    ...Object.keys(manifest.dependencies ?? {})
      .filter((name) => name !== 'ws')
      .map((name) => `everyone would install ${name}`),
    ...Object.entries(manifest.exports ?? {}).flatMap(([name, entry]) => exportFaults(name, entry, files)),
    ...Object.entries(manifest.imports ?? {}).flatMap(([name, path]) => importFaults(name, path, files)),
    ...Object.entries(manifest.bin ?? {})
      .filter(([, path]) => !files.get(sourceOf(path))?.startsWith('#!/usr/bin/env node\n'))
      .map(([name]) => `the program ${name} has no source that starts with its interpreter`),
  ];
}

/** What `npm run test:package` does by itself, so that no test would miss it. */
function isSlimmed({ scripts }: Manifest): boolean {
  return (
    scripts?.['prepack']?.endsWith(' && node tools/slim.mjs') === true &&
    scripts['postpack'] === 'node tools/slim.mjs --undo'
  );
}

function exportFaults(name: string, entry: string | Readonly<Record<string, string>>, files: Files): string[] {
  if (typeof entry === 'string') return name === './package.json' ? [] : [`${name} has no types`];
  const { types = '', default: code = '', ...others } = entry;
  if (Object.keys(entry)[0] !== 'types' || Object.keys(others).length > 0)
    return [`${name} is not types, then default`];
  if (types.replace(/\.d\.ts$/, '.js') !== code) return [`${name} has the types of another file`];
  return files.has(sourceOf(code)) ? [] : [`${name} leads to ${sourceOf(code)}, which does not exist`];
}

function importFaults(name: string, path: string, files: Files): string[] {
  const [before = '', after = ''] = sourceOf(path).split('*');
  const leads = [...files.keys()].some((file) => file.startsWith(before) && file.endsWith(after));
  return leads ? [] : [`${name} leads to ${sourceOf(path)}, which does not exist`];
}

function sourceOf(built: string): string {
  return built.replace(/^\.\/dist\//, '').replace(/\.js$/, '.ts');
}
