import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

const MANIFEST = {
  exports: {
    '.': { types: './dist/src/index.d.ts', default: './dist/src/index.js' },
    './package.json': './package.json',
  },
  imports: { '#libs/*': './dist/libs/*/index.js' },
};

const CODE = `#!/usr/bin/env node
import { b } from '#libs/b';
/** Says it. */
export function say(name) {
    // as a script
    const script = \`if true; then
    echo // \${name}
        \${
        b}
    fi\`;
    return script + /\\/\\* {4}/.source + 'a\\
    z'; // to the end
}
//# sourceMappingURL=index.js.map
`;
const SMALL_CODE = `#!/usr/bin/env node
import { b } from '#libs/b';
export function say(name) {
\tconst script = \`if true; then
    echo // \${name}
        \${b}
    fi\`;
\treturn script + /\\/\\* {4}/.source + 'a\\
    z';
}
`;

const TYPES = `import { type B } from '#libs/b';
export * from './reached.js';
export interface A {
    /**
     * In *ms*:
     *
     *     3
     */
    b: B;
    c: import('./by-type.js').C;
}
`;

const BUILT: Readonly<Record<string, string>> = {
  'src/index.js': CODE,
  'src/index.js.map': '{}',
  'src/index.d.ts': TYPES,
  'src/reached.js': 'export {};\n',
  'src/reached.d.ts': 'export type R = `\n    r`;\n',
  'src/by-type.d.ts': 'export type C = 1;\n',
  'src/for-nobody.js': 'export const nobody = 1;\n',
  'src/for-nobody.d.ts': 'export declare const nobody = 1;\n',
  'libs/b/index.js': 'export const b = 2;\n',
  'libs/b/index.d.ts': 'export declare const b = 2;\nexport type B = typeof b;\n',
  'build.tsbuildinfo': '{}',
};

describe('the build while it is packed', () => {
  let root: string;

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'slim-'));
    write('package.json', JSON.stringify(MANIFEST));
    mkdirSync(join(root, 'tools'));
    copyFileSync('tools/slim.mjs', join(root, 'tools', 'slim.mjs'));
    symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
    for (const [path, text] of Object.entries(BUILT)) write(`dist/${path}`, text);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const dist = (): Record<string, string> => {
    const entries = readdirSync(join(root, 'dist'), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    const path = (file: string): string => file.slice(join(root, 'dist/').length);
    return Object.fromEntries(files.map((file) => [path(file), readFileSync(file, 'utf8')]));
  };
  const slim = (...args: readonly string[]): void => {
    execFileSync(process.execPath, ['tools/slim.mjs', ...args], { cwd: root, stdio: 'pipe' });
  };

  test('is the same code without comments, and the declarations that an entry leads to', () => {
    slim();
    const { 'src/for-nobody.d.ts': _nobody, 'src/index.js.map': _map, 'build.tsbuildinfo': _record, ...kept } = BUILT;
    const types = TYPES.replaceAll(/^ {4}/gm, '\t');
    expect(dist()).toEqual({ ...kept, 'src/index.js': SMALL_CODE, 'src/index.d.ts': types });
  });

  test('comes out the same again, over what an interrupted one left', () => {
    slim();
    const first = dist();
    for (const [path, text] of Object.entries({ ...BUILT, 'src/old.js': 'old' })) write(`dist.built/${path}`, text);
    write('dist.small/src/old.js', 'old');
    slim();
    expect(dist()).toEqual(first);
  });

  test('is afterwards what it was, to the time of the record that the set-up goes by', () => {
    const record = join(root, 'dist', 'build.tsbuildinfo');
    const before = statSync(record).mtimeMs;
    slim();
    slim('--undo');
    expect(dist()).toEqual(BUILT);
    expect(statSync(record).mtimeMs).toBe(before);
    expect(readdirSync(root).toSorted()).toEqual(['dist', 'node_modules', 'package.json', 'tools']);
  });

  test('stays as it is where there is nothing to bring back', () => {
    slim('--undo');
    expect(dist()).toEqual(BUILT);
  });
});
