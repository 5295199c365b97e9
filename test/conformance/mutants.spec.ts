import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { ALL_CASES, conformanceCases } from '#libs/conformance';
import { REPOSITORY } from '../support/dist.js';
import { ALL_MUTANTS } from './mutants/all-mutants.js';
import { CATCH, catchOf } from './mutants/catching.js';
import { fake } from './mutants/making.js';
import { namedBy, type Mutant } from './mutants/mutant.js';
import { TargetFake } from './targets/fake.js';

/** Mutants at once: most of the time goes into waiting for what never comes. */
const AT_ONCE = 12;

type Caught = readonly (readonly [id: string, how: string])[];

describe('a mutant is caught by every case that it names', () => {
  const caught = new Map<Mutant, Caught>();
  let tree: string | undefined;

  beforeAll(async () => {
    const tools = pathToFileURL(join(REPOSITORY, 'tools/program-tree.mjs')).href;
    const { programTree } = (await import(tools)) as { programTree: (root: string, name: string) => Promise<string> };
    tree = await programTree(REPOSITORY, 'conformance');
    const todo = ALL_MUTANTS.values();
    const work = async (): Promise<void> => {
      for (const mutant of todo)
        caught.set(mutant, await (mutant.inNode ? inNode(mutant, tree as string) : here(mutant)));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }, 300_000);

  afterAll(async () => {
    if (tree !== undefined) await rm(tree, { recursive: true });
  });

  test.each(ALL_MUTANTS.map((mutant) => [mutant.name, mutant] as const))('%s', (_, mutant) => {
    expect(caught.get(mutant)).toEqual([
      ...mutant.caughtBy.map((id) => [id, CATCH.mismatch]),
      ...(mutant.caughtByRefusal ?? []).map((id) => [id, CATCH.refusal]),
      ...(mutant.caughtByHanging ?? []).map((id) => [id, CATCH.hanging]),
    ]);
  });
});

test.each([
  ['that can do everything', () => fake(TargetFake)],
  ['that can do nothing but what it must', () => fake(TargetFake, { capabilities: [] })],
])('the fake %s is caught by no case in the same little time', async (name, make) => {
  const caughtBy = conformanceCases(make()).map(({ id }) => id);
  const caught: string[] = [];
  for (const id of caughtBy) {
    const how = await catchOf({ name, defect: 'None.', make, caughtBy }, id);
    if (how !== CATCH.nothing) caught.push(`${id} ${how}`);
  }
  expect(caught).toEqual([]);
});

describe('mutants', () => {
  test('are at least 40, each with a name of its own', () => {
    expect(ALL_MUTANTS.length).toBeGreaterThanOrEqual(40);
    expect(new Set(ALL_MUTANTS.map(({ name }) => name)).size).toBe(ALL_MUTANTS.length);
  });

  test('name only cases that there are, and none twice', () => {
    const known = new Set(ALL_CASES.map(({ id }) => id));
    const ids = ALL_MUTANTS.map((mutant) => namedBy(mutant));
    expect(ids.flat().filter((id) => !known.has(id))).toEqual([]);
    expect(ids.filter((some) => some.length === 0 || new Set(some).size < some.length)).toEqual([]);
  });

  test('name every MUST and every SHOULD', () => {
    const named = new Set(ALL_MUTANTS.flatMap((mutant) => namedBy(mutant)));
    const wanted = ALL_CASES.filter(({ level }) => level !== 'MAY').map(({ id }) => id);
    expect(wanted.filter((id) => !named.has(id))).toEqual([]);
  });
});

async function here(mutant: Mutant): Promise<Caught> {
  return Promise.all(namedBy(mutant).map(async (id) => [id, await catchOf(mutant, id)] as const));
}

/** Under Jest `process` is another one than Node's. */
async function inNode({ name }: Mutant, tree: string): Promise<Caught> {
  const file = join(tree, 'test/conformance/mutants/in-node.js');
  const { stdout } = await promisify(execFile)(process.execPath, [file, name]);
  return JSON.parse(stdout) as Caught;
}
