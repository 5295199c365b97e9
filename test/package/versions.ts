import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { REPOSITORY } from '../support/dist.js';

export type NestMajor = 11 | 12;

/** Of Nest 11 there is no newest one to wait for; `@nestjs/config` counted on its own. */
const NEST_11 = { '@nestjs/config': '^4.0.0' } as Readonly<Record<string, string>>;

/** What to install for a name: this repository's own version, or that of the older Nest. */
export function versioned(name: string, nest: NestMajor, said?: string): string {
  if (nest === 11 && name.startsWith('@nestjs/')) return `${name}@${NEST_11[name] ?? '^11.0.0'}`;
  const manifest = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as {
    devDependencies: Readonly<Record<string, string>>;
  };
  return `${name}@${said ?? manifest.devDependencies[name] ?? 'latest'}`;
}
