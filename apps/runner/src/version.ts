import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PACKAGE = 'nestjs-sandbox';

/** The version of the package that this file belongs to, which lies at another depth in sources than when built. */
export function packageVersion(): string {
  for (let url = new URL('.', import.meta.url); url.pathname !== '/'; url = new URL('..', url)) {
    try {
      const { name, version } = JSON.parse(readFileSync(fileURLToPath(new URL('package.json', url)), 'utf8')) as Record<
        string,
        unknown
      >;
      if (name === PACKAGE && typeof version === 'string') return version;
    } catch {
      // not in this directory
    }
  }
  return 'unknown';
}
