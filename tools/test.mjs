// `npm test`: the set-up, then jest with the arguments that were given.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './run.mjs';
import { afterSetUp } from './setup.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];

await afterSetUp(async () => {
  const ended = await run(process.execPath, [...flags, jest, ...process.argv.slice(2)], {
    stdio: 'inherit',
    cwd: root,
  });
  return ended.code;
});
