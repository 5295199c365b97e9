import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';

// Stands in for npm: notes how it was called, then does what FAKE_NPM says and leaves the little that a build needs.
const NPM = `
const { appendFileSync, existsSync, mkdirSync, rmSync, writeFileSync } = require('node:fs');
const note = (line) => appendFileSync('calls.log', line + '\\n');
note('npm ' + process.argv.slice(2).filter((word) => !word.startsWith('--') || word === '--no-save').join(' '));
if (process.env.FAKE_NPM === 'fail') { console.error('npm error no network'); process.exit(9); }
if (process.env.FAKE_NPM === 'die') process.kill(process.pid, 'SIGKILL');
if (process.env.FAKE_NPM === 'wait') {
  process.on('SIGTERM', () => { note('npm got TERM'); process.exit(1); });
  note('npm waits');
  setInterval(() => {}, 1000);
} else {
  if (process.argv[2] === 'ci') rmSync('node_modules', { recursive: true, force: true });
  mkdirSync('node_modules/@nestjs/cli/bin', { recursive: true });
  writeFileSync('node_modules/.package-lock.json', '{}');
  writeFileSync('node_modules/@nestjs/cli/bin/nest.js', ${JSON.stringify(`
    const { appendFileSync, mkdirSync, writeFileSync } = require('node:fs');
    appendFileSync('calls.log', 'nest ' + process.argv[2] + '\\n');
    console.log('said by nest');
    if (process.env.FAKE_NEST === 'fail') process.exit(1);
    mkdirSync('dist/apps', { recursive: true });
    writeFileSync('dist/build.tsbuildinfo', String(Math.random()));
  `)});
  console.log('said by npm');
}
`;

/** What one set-up did, as a user would see it. */
export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A small repository in a temporary directory on which the real set-up runs with an npm that only takes notes. */
export class FakeTree {
  readonly root = mkdtempSync(join(tmpdir(), 'set-up-'));
  private readonly npm = join(this.root, 'npm-cli.js');
  private seen = 0;

  constructor() {
    this.write('package.json', JSON.stringify({ devDependencies: { a: '1' } }));
    this.write('package-lock.json', '{"packages":{}}');
    this.write('src/index.ts', 'export const one = 1;');
    this.write('npm-cli.js', NPM);
  }

  start(env: Record<string, string> = {}): { pid: number; outcome: Promise<Outcome> } {
    const setup = resolve('tools/setup.mjs');
    const program = `const { afterSetUp, setUp } = await import(${JSON.stringify(setup)});
      await afterSetUp(() => { console.log('main'); return 5; }, ${JSON.stringify(this.root)});`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      env: { PATH: process.env['PATH'], npm_execpath: this.npm, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const closed = new Promise<number | null>((settle) => child.once('close', settle));
    const outcome = Promise.all([closed, text(child.stdout), text(child.stderr)]);
    return { pid: child.pid ?? 0, outcome: outcome.then(([code, stdout, stderr]) => ({ code, stdout, stderr })) };
  }

  run(env: Record<string, string> = {}): Promise<Outcome> {
    return this.start(env).outcome;
  }

  /** The calls of npm and nest since the last time this was asked. */
  calls(): string[] {
    const all = this.has('calls.log') ? readFileSync(join(this.root, 'calls.log'), 'utf8').trim().split('\n') : [];
    const fresh = all.slice(this.seen);
    this.seen = all.length;
    return fresh;
  }

  write(path: string, content: string): void {
    mkdirSync(join(this.root, path, '..'), { recursive: true });
    writeFileSync(join(this.root, path), content);
  }

  has(path: string): boolean {
    return existsSync(join(this.root, path));
  }

  delete(path: string): void {
    rmSync(join(this.root, path), { recursive: true, force: true });
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}
