import { describe, expect, test } from '@jest/globals';
import { example, repositoryFiles, sources, typeScript } from './files.js';
import { cycles, reach, waysTo } from './graph.js';

const NEST_OR_RXJS = /^(?:@nestjs\/|rxjs$|reflect-metadata$|class-)/;
const WEBSOCKETS = /^@nestjs\/(?:websockets|platform-ws)$/;
const EXTRAS = /^(?:@nestjs\/terminus|@opentelemetry\/.*)$/;
const files = typeScript(repositoryFiles());

/** What is loaded from outside: the published entries, the daemon and the platform. */
const ENTRIES = [
  'src/index.ts',
  'src/runner/index.ts',
  'src/health/index.ts',
  'src/otel/index.ts',
  'libs/contract/src/index.ts',
  'libs/testing/src/index.ts',
  'libs/conformance/src/index.ts',
  'libs/emulators/src/index.ts',
  'src/adapters/sprites/index.ts',
  'src/adapters/e2b/index.ts',
  'src/adapters/daytona/index.ts',
  'apps/runner/src/main.ts',
  'apps/platform/src/main.ts',
  'apps/platform/src/start.ts',
];

describe('the graph of imports', () => {
  test('the daemon loads neither Nest nor rxjs', () => {
    expect(waysTo(files, 'apps/runner/src/main.ts', NEST_OR_RXJS, 'loaded')).toEqual([]);
  });

  test('the core of the contract needs rxjs not even for its types', () => {
    expect(waysTo(files, 'libs/contract/src/core.ts', NEST_OR_RXJS, 'types')).toEqual([]);
  });

  test('the root of the package needs no WebSocket layer, not even for its types', () => {
    expect(waysTo(files, 'src/index.ts', WEBSOCKETS, 'types')).toEqual([]);
  });

  test.each(['src/health/index.ts', 'src/otel/index.ts'])('%s needs no WebSocket layer either', (entry) => {
    expect(waysTo(files, entry, WEBSOCKETS, 'types')).toEqual([]);
  });

  test.each(['src/index.ts', 'src/runner/index.ts', 'libs/contract/src/index.ts', 'libs/testing/src/index.ts'])(
    '%s needs neither Terminus nor OpenTelemetry',
    (entry) => {
      expect(waysTo(files, entry, EXTRAS, 'types')).toEqual([]);
    },
  );

  test('each of the two extras needs its own package alone', () => {
    expect(waysTo(files, 'src/health/index.ts', /^@opentelemetry\//, 'types')).toEqual([]);
    expect(waysTo(files, 'src/otel/index.ts', /^@nestjs\/terminus$/, 'types')).toEqual([]);
    expect(waysTo(files, 'src/otel/index.ts', /^@opentelemetry\/(?!api$)/, 'types')).toEqual([]);
  });

  test('no file imports itself over others', () => {
    expect(cycles(files, 'types')).toEqual([]);
  });

  test('every source is used by an entry of the package or an app', () => {
    const reached = ENTRIES.map((entry) => reach(files, entry, 'types'));
    const unused = [...sources(files).keys()].filter((path) => !reached.some((paths) => paths.has(path)));
    expect(unused).toEqual([]);
  });
});

describe('what the graph finds', () => {
  const small = example({
    'a.ts': "import { b } from './b.js'; import type { T } from 'rxjs';",
    'b.ts': "export * from './c.js';",
    'c.ts': "const x = import('@nestjs/core/inner'); import type { A } from './a.js';",
  });

  test('a package reached over several files, re-exports and import() included', () => {
    expect(waysTo(small, 'a.ts', NEST_OR_RXJS, 'loaded')).toEqual(['a.ts > b.ts > c.ts > @nestjs/core']);
  });

  test('a package that only types need, when types are asked for', () => {
    expect(waysTo(small, 'a.ts', /^rxjs$/, 'types')).toEqual(['a.ts > rxjs']);
  });

  test('an import whose names are all types is loaded all the same, unless it says import type', () => {
    const text = "import { type T } from 'rxjs';";
    expect(waysTo(example({ 'a.ts': text }), 'a.ts', /^rxjs$/, 'loaded')).toEqual(['a.ts > rxjs']);
  });

  test('an entry that is not there', () => {
    expect(waysTo(small, 'z.ts', NEST_OR_RXJS, 'loaded')).toEqual(['z.ts does not exist']);
  });

  test('a cycle over three files, and one that only types close', () => {
    expect(cycles(small, 'types')).toEqual(['a.ts > b.ts > c.ts > a.ts']);
    expect(cycles(small, 'loaded')).toEqual([]);
  });
});
