// `node tools/believability.mjs <provider> …`: runs each provider's official SDK, unmodified and pinned, against our
// emulator. Without a provider all of them. One line per check; exits with 1 when one fails. Leaves nothing.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { withProgram } from './program.mjs';
import { codeOf, run } from './run.mjs';

/** Installs the packages of a provider in `directory`, with the one install script that brings a Node. */
async function install(directory, { packages, node }) {
  mkdirSync(directory);
  // Named here, it may run its script also under an npm that runs none unasked.
  const allowScripts = node === undefined ? {} : { [node]: true };
  writeFileSync(
    join(directory, 'package.json'),
    JSON.stringify({ private: true, dependencies: packages, allowScripts }),
  );
  const flags = ['--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error', '--no-ignore-scripts'];
  const { code } = await run('npm', ['install', ...flags], { cwd: directory, stdio: ['ignore', 2, 2] });
  if (code !== 0) throw new Error(`npm install failed with exit code ${code}`);
}

/** The Node that a package brought: its own install script puts it there, or the package of the platform has it. */
function nodeIn(modules, name) {
  const places = [join(modules, name, 'bin', 'node')];
  for (const entry of readdirSync(modules))
    if (entry.startsWith('node-')) places.push(join(modules, entry, 'bin', 'node'));
  const found = places.find((place) => existsSync(place));
  if (!found) throw new Error(`the package ${name} brought no program`);
  return found;
}

async function believe(tree, name, provider) {
  const directory = join(tree, `sdk-${name}`);
  await install(directory, provider);
  const modules = join(directory, 'node_modules');
  const program = provider.node === undefined ? process.execPath : nodeIn(modules, provider.node);
  const main = join(tree, 'test/believability/main.js');
  const ended = await run(program, [main, name, modules], { stdio: ['ignore', 'inherit', 'inherit'] });
  return ended.interrupted ? codeOf(ended.interrupted) : ended.code;
}

await withProgram('believability', async (tree) => {
  const { PROVIDERS } = await import(pathToFileURL(join(tree, 'test/believability/providers.js')).href);
  const asked = process.argv.slice(2);
  const names = asked.length > 0 ? asked : Object.keys(PROVIDERS);
  const unknown = names.filter((name) => !(name in PROVIDERS));
  if (unknown.length > 0) {
    process.stderr.write(`no such provider: ${unknown.join(', ')}; there are ${Object.keys(PROVIDERS).join(', ')}\n`);
    return 2;
  }
  let worst = 0;
  for (const name of names) worst = Math.max(worst, await believe(tree, name, PROVIDERS[name]));
  return worst;
});
