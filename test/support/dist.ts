import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

/** A file of the build: of `SANDBOX_DIST`, where that is set, otherwise of `dist`. */
export function distFile(path: string): string {
  const file = join(process.env['SANDBOX_DIST'] || join(REPOSITORY, 'dist'), path);
  if (!existsSync(file)) throw new Error(`${file} is missing: run \`npm run build\`, as \`npm test\` does`);
  return file;
}
