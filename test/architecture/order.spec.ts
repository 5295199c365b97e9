import { describe, expect, test } from '@jest/globals';
import { example, repositoryFiles, typeScript } from './files.js';
import { orderFaults } from './order.js';

describe('the order of imports', () => {
  test('every file imports only what its place in the repository allows, by the name it should use', () => {
    expect(orderFaults(typeScript(repositoryFiles()))).toEqual([]);
  });

  test.each<[what: string, path: string, line: string, fault: string]>([
    ['a lib from src', 'libs/process/src/a.ts', "import '../../../src/index.js';", 'imports src/index.ts by path'],
    ['a lib by path', 'src/runner/a.ts', "import '../../libs/contract/src/index.js';", 'imports libs/contract by path'],
    ['the inside of a lib', 'src/a.ts', "import '#libs/contract/src/x.js';", 'reaches into'],
    [
      'its own lib by name',
      'libs/protocol/src/a.ts',
      "import '#libs/protocol';",
      'imports its own libs/protocol by name',
    ],
    [
      'a lib of its group',
      'libs/protocol/src/a.ts',
      "import '#libs/process';",
      'imports libs/process, which is not above',
    ],
    [
      'a later group',
      'libs/contract/src/a.ts',
      "import '#libs/protocol';",
      'imports libs/protocol, which is not above',
    ],
    ['a later folder', 'src/runner/a.ts', "import '../sandbox/index.js';", 'imports src/sandbox, which is not above'],
    ['the public entry', 'src/sandbox/a.ts', "import '../index.js';", 'imports src, which is not above'],
    ['its own package', 'src/sandbox/a.ts', "import 'nestjs-sandbox';", 'imports its own package'],
    ['test fixtures', 'src/sandbox/a.ts', "import '#libs/testing';", 'imports libs/testing, made for tests'],
    ['fixtures in an app', 'apps/platform/src/a.ts', "import '#libs/testing';", 'imports libs/testing, made for tests'],
    ['an app from an app', 'apps/platform/src/a.ts', "import '../../runner/src/main.js';", 'by path'],
    ['the library', 'apps/runner/src/a.ts', "import 'nestjs-sandbox';", 'imports src'],
    ['Nest in the daemon', 'apps/runner/src/a.ts', "import '@nestjs/common';", 'imports the package @nestjs/common'],
    ['types of Nest', 'libs/process/src/a.ts', "import type { X } from '@nestjs/core';", 'the package @nestjs/core'],
    ['rxjs in a protocol', 'libs/protocol/src/a.ts', "const x = import('rxjs');", 'imports the package rxjs'],
    ['the whole contract', 'libs/process/src/a.ts', "import '#libs/contract';", 'imports the contract with rxjs'],
    ['a type of it', 'apps/runner/src/a.ts', "type A = import('#libs/contract').A;", 'imports the contract with rxjs'],
    ['an unprefixed builtin', 'libs/process/src/a.ts', "import 'fs';", 'imports fs without node:'],
    ['jest', 'src/runner/a.ts', "import { test } from '@jest/globals';", 'imports jest outside a spec'],
  ])('importing %s is a fault', (_, path, line, fault) => {
    const faults = orderFaults(example({ [path]: `\n${line}` }));
    expect(faults.filter((found) => found.startsWith(`${path}:2 `) && found.includes(fault))).toHaveLength(1);
  });

  test('a lib or folder that nobody placed is a fault', () => {
    const faults = ['libs/extra has no place in the import order'];
    expect(orderFaults(example({ 'libs/extra/src/index.ts': '' }))).toEqual(faults);
  });

  test.each([
    ['a neighbour', 'libs/protocol/src/a.ts', './b.js'],
    ['an earlier folder', 'src/sandbox/a.ts', '../runner/index.js'],
    ['a lib', 'src/sandbox/a.ts', '#libs/protocol'],
    ['the part without rxjs', 'apps/runner/src/a.ts', '#libs/contract/core'],
    ['ws in the daemon', 'apps/runner/src/a.ts', 'ws'],
    ['the published entry in an app', 'apps/platform/src/a.ts', 'nestjs-sandbox/runner'],
    ['fixtures by the start', 'apps/platform/src/start.ts', '#libs/testing'],
    ['fixtures in a spec', 'src/sandbox/a.spec.ts', '#libs/testing'],
    ['sources in a test', 'test/a.e2e-spec.ts', '../src/runner/index.js'],
  ])('importing %s is no fault', (_, path, specifier) => {
    expect(orderFaults(example({ [path]: `import { x } from '${specifier}';` }))).toEqual([]);
  });
});
