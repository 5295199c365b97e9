// `npm run docs`: writes the pages that are made from the code. The same test fails while one of them is stale.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from './run.mjs';
import { afterSetUp } from './setup.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];

await afterSetUp(async () => {
  const ended = await run(process.execPath, [...flags, jest, 'test/docs'], {
    stdio: 'inherit',
    cwd: root,
    env: { ...process.env, WRITE_DOCS: '1' },
  });
  return ended.code;
});
