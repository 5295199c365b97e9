// What `npm start` and `npm test` need first: dependencies installed and sources built, each only when something that
// they depend on has changed. Everything it prints goes to stderr, and nothing reads stdin.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from './lock.mjs';
import { codeOf, run } from './run.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const BUILT_FROM = ['src', 'libs', 'apps', 'tsconfig.json', 'tsconfig.build.json', 'nest-cli.json', 'package.json'];
const DEPENDENCIES = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies', 'overrides'];
/** Natives are built or chosen for these, so a tree that was installed under others is installed afresh. */
const MACHINE = `${process.platform}-${process.arch}-${process.versions.modules}`;

/** A set-up that cannot go on, with what to do about it; `exitCode` is that of the program that failed. */
class SetupError extends Error {
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * Installs and builds what is missing or out of date. Two at once wait for each other; one that was interrupted is done
 * again by the next. Under `npm --silent` it says nothing unless it fails.
 *
 * @throws {SetupError}
 */
export async function setUp(root) {
  checkNode(process.versions.node);
  const tree = new Tree(root, process.env.npm_config_loglevel === 'silent');
  if (tree.isInstalled() && tree.isBuilt()) return;
  await withLock(join(root, '.setup.lock'), () => tree.prepare(), {
    onWait: () => tree.say('Waiting for another set-up in this directory.'),
  });
}

/** Runs `main` after the set-up; a failed set-up is one line on stderr and an exit code. */
export async function afterSetUp(main, root = ROOT) {
  try {
    await setUp(root);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = error.exitCode;
    return;
  }
  process.exitCode = await main();
}

class Tree {
  constructor(root, quiet) {
    this.root = root;
    this.quiet = quiet;
    this.modules = join(root, 'node_modules');
    this.stamps = { install: join(this.modules, '.setup-install'), build: join(this.modules, '.setup-build') };
  }

  isInstalled() {
    return existsSync(this.modules) && read(this.stamps.install) === this.installKey();
  }

  isBuilt() {
    return existsSync(join(this.root, 'dist', 'apps')) && read(this.stamps.build) === this.buildKey();
  }

  async prepare() {
    if (!this.isInstalled()) await this.install();
    if (!this.isBuilt()) await this.build();
  }

  async install() {
    const npm = findNpm();
    const stamp = read(this.stamps.install);
    // npm writes its own record last: without it, with a stamp of a set-up that did not end, or with one of another
    // machine the tree cannot be trusted. A good tree is only brought up to date.
    const sound = existsSync(join(this.modules, '.package-lock.json'));
    const clean = !sound || (stamp !== undefined && !stamp.startsWith(`${MACHINE} `));
    const locked = existsSync(join(this.root, 'package-lock.json'));
    const verb = clean && locked ? ['ci'] : locked ? ['install', '--no-save'] : ['install'];
    const key = this.installKey();
    this.say(`Installing dependencies (npm ${verb[0]}).`);
    if (sound) this.stamp('install', 'unfinished');
    // What a caller configured for its own command must not turn this install into something else, and nothing that
    // is used here needs an install script.
    const kind = [
      '--include=dev',
      '--include=optional',
      '--package-lock',
      '--no-package-lock-only',
      '--ignore-scripts',
    ];
    const plain = ['--no-global', '--no-dry-run', '--no-audit', '--no-fund', '--loglevel=error'];
    await this.step(`npm ${verb[0]}`, npm.program, [...npm.args, ...verb, ...kind, ...plain]);
    this.stamp('install', locked ? key : this.installKey());
  }

  async build() {
    const nest = join(this.modules, '@nestjs', 'cli', 'bin', 'nest.js');
    this.say('Building (nest build).');
    rmSync(this.stamps.build, { force: true });
    const before = this.sourcesKey();
    await this.step('nest build', process.execPath, [nest, 'build']);
    // A source that changed while it was built is built again the next time.
    if (this.sourcesKey() === before) this.stamp('build', this.buildKey());
  }

  async step(name, program, args) {
    const out = this.quiet ? 'ignore' : 2;
    let ended;
    try {
      ended = await run(program, args, { cwd: this.root, stdio: ['ignore', out, 2] });
    } catch (error) {
      throw new SetupError(`${name} could not be started: ${error.message}`);
    }
    if (ended.interrupted) throw new SetupError(`Interrupted during ${name}.`, codeOf(ended.interrupted));
    if (ended.code !== 0) throw new SetupError(`${name} failed with exit code ${ended.code}.`, ended.code);
  }

  installKey() {
    const hash = createHash('sha256').update(read(join(this.root, 'package-lock.json')) ?? '');
    const manifest = JSON.parse(read(join(this.root, 'package.json')) ?? '{}');
    hash.update(JSON.stringify(DEPENDENCIES.map((field) => manifest[field] ?? null)));
    return `${MACHINE} ${hash.digest('hex')}`;
  }

  sourcesKey() {
    const hash = createHash('sha256').update(read(this.stamps.install) ?? '');
    for (const file of BUILT_FROM.flatMap((path) => filesBelow(this.root, path))) {
      const content = readFileSync(join(this.root, file));
      hash.update(`${file}\0${content.length}\0`).update(content);
    }
    return hash.digest('hex');
  }

  /** With the time of the compiler's record, so that a build by other means does not count as this one. */
  buildKey() {
    const record = join(this.root, 'dist', 'build.tsbuildinfo');
    const time = existsSync(record) ? statSync(record).mtimeMs : 0;
    return `${this.sourcesKey()} ${time}`;
  }

  stamp(step, content) {
    mkdirSync(this.modules, { recursive: true });
    writeFileSync(this.stamps[step], content);
  }

  say(line) {
    if (!this.quiet) process.stderr.write(`${line}\n`);
  }
}

function checkNode(version) {
  const [major, minor] = version.split('.').map(Number);
  const least = { 20: 19, 22: 12 }[major] ?? 0;
  if (major >= 20 && major !== 21 && minor >= least) return;
  throw new SetupError(
    `Node 20.19 or later, 22.12 or later, or 24 is needed; this is ${version}. See https://nodejs.org`,
  );
}

/** The npm that runs this script, or else the one on the PATH. */
function findNpm() {
  const cli = process.env.npm_execpath;
  if (cli && basename(cli) === 'npm-cli.js' && existsSync(cli)) return { program: process.execPath, args: [cli] };
  const onPath = (process.env.PATH ?? '').split(':').some((directory) => existsSync(join(directory || '.', 'npm')));
  if (onPath) return { program: 'npm', args: [] };
  throw new SetupError('npm was not found on the PATH. It comes with Node: https://nodejs.org');
}

function filesBelow(root, path) {
  const absolute = join(root, path);
  if (!existsSync(absolute)) return [];
  if (statSync(absolute).isFile()) return [path];
  return readdirSync(absolute, { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isDirectory() ? filesBelow(root, join(path, entry.name)) : [join(path, entry.name)]))
    .filter((file) => !file.endsWith('.spec.ts'));
}

function read(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
