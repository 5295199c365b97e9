import { describe, expect, test } from '@jest/globals';
import { DEFAULT_TRAITS, SandboxError } from '#libs/contract';
import { FakeAdapter } from '#libs/testing';
import type { ConformanceCase } from './conformance-case.js';
import { expectEqual, expectRejection } from './expect.js';
import { conformancePlan } from './plan.js';
import { runConformance } from './report.js';
import { runCase } from './run-case.js';
import { shellWords } from './shell-words.js';
import type { ConformanceSubject } from './subject.js';
import { conformanceTable } from './table.js';
import { verify } from './verify.js';

let names = 0;

function subject(more: Partial<ConformanceSubject> = {}): ConformanceSubject & { adapter: FakeAdapter } {
  const adapter = new FakeAdapter();
  return { name: 'fake', words: shellWords, newName: () => `box-${++names}`, ...more, adapter };
}

function oneCase(more: Partial<ConformanceCase>): ConformanceCase {
  return { id: 'TST-001', title: 'is tried', level: 'MUST', promise: 'create', run: async () => {}, ...more };
}

async function failure(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'none',
    (error: unknown) => (error as Error).message,
  );
}

describe('a case', () => {
  test('that holds resolves, and its sandbox is gone after it', async () => {
    const fake = subject();
    await runCase(fake, oneCase({ run: async (t) => void (await t.sandbox()) }));
    expect(await fake.adapter.listAllNames()).toEqual([]);
  });

  test('that fails tells what was expected and seen, with the calls and the promise', async () => {
    const run = oneCase({
      run: async (t) => {
        const handle = await t.sandbox();
        await t.adapter.get(t.adapter.buildHandle('none')).catch(() => {});
        expectEqual('the name', handle.name, 'another');
      },
    });
    const text = await failure(runCase(subject(), run));
    expect(text).toContain('TST-001 (MUST) is tried');
    expect(text).toContain('expected: "another"');
    expect(text).toMatch(/observed: "box-\d+"/);
    expect(text).toMatch(/\+\d+ ms {2}→ #1 create\("box-\d+"\)/);
    expect(text).toMatch(/✗ #2 get SandboxError not_found, effect none/);
    expect(text).toContain('docs/conformance.md#create');
  });

  test('that does not finish fails at its deadline, and is cleaned up after', async () => {
    const fake = subject();
    const run = oneCase({ timeoutMs: 30, run: async (t) => (await t.sandbox(), new Promise<void>(() => {})) });
    expect(await failure(runCase(fake, run))).toContain('expected: it within 30 ms');
    expect(await fake.adapter.listAllNames()).toEqual([]);
  });

  test('that fails before it awaits a call leaves no unhandled rejection', async () => {
    const run = oneCase({
      run: async (t) => {
        const missing = t.adapter.buildHandle('none');
        void t.adapter.get(missing);
        void expectRejection('a get', t.adapter.get(missing), { code: 'unavailable' });
        expectEqual('one', 1, 2);
      },
    });
    expect(await failure(runCase(subject(), run))).toContain('in:       one');
    // Node tells of unhandled rejections at the end of a turn, and Jest fails a test for them.
    await new Promise(setImmediate);
  });

  test('shows where an adapter has a mistake', async () => {
    class Mistaken extends FakeAdapter {
      protected override async doCreate(): Promise<never> {
        throw new TypeError('no such thing');
      }
    }
    const run = oneCase({ run: async (t) => void (await t.adapter.create('box')) });
    const said = await failure(runCase({ ...subject(), adapter: new Mistaken() }, run));
    expect(said).toMatch(/^observed: SandboxError: create failed with an unexpected TypeError\n {4}at /m);
    expect(said).toMatch(/^cause: {4}TypeError: no such thing\n {4}at Mistaken\.doCreate .*conformance\.spec\.ts:\d+/m);
    expect(said).toContain('("create failed with an unexpected TypeError"), cause TypeError: "no such thing"');
  });

  test('fails when what it opened cannot be closed', async () => {
    const run = oneCase({
      run: async (t) =>
        t.defer(() => {
          throw new Error('stuck');
        }),
    });
    expect(await failure(runCase(subject(), run))).toContain('Error: stuck');
  });

  test('fails when something of its sandbox is left', async () => {
    const fake = subject({ insight: { leftovers: () => Promise.resolve(['process 7']) } });
    expect(await failure(runCase(fake, oneCase({})))).toContain('observed: process 7');
  });

  test('that is known to fail must fail still', async () => {
    const fake = subject({ knownFailures: { 'TST-001': 'not built yet' } });
    const failing = oneCase({ run: () => Promise.reject(new Error('broken')) });
    expect(await failure(runCase(fake, failing))).toBe('none');
    expect(await failure(runCase(fake, oneCase({})))).toContain('it passes; take the entry out');
  });
});

describe('the plan', () => {
  test('says why a case does not run', () => {
    const cases = [
      oneCase({ id: 'TST-001', needs: ['checkpoint'] }),
      oneCase({ id: 'TST-002', needs: ['fault:stall'] }),
      oneCase({ id: 'TST-003', needs: ['insight:egress'] }),
      oneCase({ id: 'TST-004', lacks: 'attach' }),
      oneCase({ id: 'TST-005', needs: ['word:showTerminalSize', 'files'], lacks: 'checkpoint' }),
      oneCase({ id: 'TST-006', needs: ['trait:atomicWrites'] }),
    ];
    class InPlace extends FakeAdapter {
      override readonly traits = { ...DEFAULT_TRAITS, atomicWrites: false };
    }
    const capabilities = new Set(['attach', 'files'] as const);
    const plan = conformancePlan({ ...subject({ capabilities }), adapter: new InPlace() }, cases);
    expect(plan.map(({ notRun }) => notRun)).toEqual([
      'has no checkpoint: its refusal is tested instead',
      'the subject cannot inject stall',
      'the subject cannot tell egress',
      'has attach: the case is for adapters without',
      undefined,
      'the subject does not declare atomicWrites',
    ]);
  });

  test('refuses known failures of cases that there are not', () => {
    expect(() => conformancePlan(subject({ knownFailures: { 'XXX-999': 'why' } }))).toThrow('no case XXX-999');
  });
});

describe('the report', () => {
  const cases = [
    oneCase({ id: 'TST-001', title: 'holds' }),
    oneCase({ id: 'TST-002', title: 'breaks', level: 'SHOULD', run: () => Promise.reject(new Error('broken')) }),
    oneCase({ id: 'TST-003', title: 'is impossible', needs: ['fault:stall'] }),
    oneCase({ id: 'TST-004', title: 'is known', run: () => Promise.reject(new SandboxError('unavailable')) }),
  ];
  const known = { knownFailures: { 'TST-004': 'later' } };

  test('counts outcomes and survives JSON', async () => {
    const report = await runConformance(subject(known), { cases });
    expect(JSON.parse(JSON.stringify(report))).toEqual(report);
    expect(report.results.map(({ id, outcome, reason }) => [id, outcome, reason])).toEqual([
      ['TST-001', 'passed', undefined],
      ['TST-002', 'failed', undefined],
      ['TST-003', 'not_run', 'the subject cannot inject stall'],
      ['TST-004', 'known_failure', 'later'],
    ]);
    expect([report.passed, report.failed, report.mustFailed]).toEqual([1, 1, 0]);
  });

  test('is a table, cases down and targets across, with the reasons below', async () => {
    const first = await runConformance(subject(known), { cases });
    const second = await runConformance(subject({ name: 'second' }), { cases, only: ({ id }) => id === 'TST-001' });
    const table = conformanceTable([first, second]).split('\n');
    expect(table.slice(0, 5)).toEqual([
      'case     level  fake  second  title',
      'TST-001  MUST   pass  pass    holds',
      'TST-002  SHOULD FAIL          breaks',
      'TST-003  MUST   –             is impossible',
      'TST-004  MUST   known         is known',
    ]);
    expect(table).toContain('  – the subject cannot inject stall: TST-003');
    expect(table).toContain('  – known failure: later: TST-004');
  });

  test('of verify is an error with every broken MUST, and no other', async () => {
    const [must] = cases.slice(3);
    expect((await verify(subject(known), { cases })).failed).toBe(1);
    const error = await verify(subject(), { cases }).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(AggregateError);
    expect((error as AggregateError).errors).toHaveLength(1);
    expect((error as AggregateError).message).toContain(`${must?.id} (MUST) is known`);
  });
});
