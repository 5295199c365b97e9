import type { SandboxCommand } from '#libs/contract';
import type { CaseContext } from '../case-context.js';
import type { CaseNeed, ConformanceCase } from '../conformance-case.js';
import { exists, expectUsable } from '../errands.js';
import { expectBytes, expectEqual, expectError, expectRejection, expectThat } from '../expect.js';
import type { Reading } from '../reading.js';
import { attachAndRead, expectExit, expectOutput, start, startSession, type Output } from '../session.js';
import type { Heal } from '../subject.js';

const OUTPUT_BYTES = 3_000;
const CODE = 7;

/** What the command of these cases writes, so that every cut has bytes on both sides. */
function written(t: CaseContext): Output {
  const stdout = Buffer.from(Array.from({ length: OUTPUT_BYTES }, (_, i) => i % 251));
  return { stdout, stderr: t.tells.stderrApart ? Buffer.from('some of stderr') : Buffer.of() };
}

/** Whether it ended in an error, which is of the way there and comes behind a beginning of the output. @throws {Mismatch} */
async function endedInError(reading: Reading, output: Output): Promise<boolean> {
  const ending = await reading.ended;
  if ('exit' in ending) {
    // An adapter may find its way back to the process: then nothing may be missing.
    expectEqual('exit', ending.exit, { exitCode: CODE });
    expectOutput('the command', reading, output);
    return false;
  }
  expectError('the end of the output', ending.error, { code: 'unavailable' });
  for (const stream of ['stdout', 'stderr'] as const) {
    const { byteLength } = reading[stream];
    expectBytes(`what came of ${stream}`, reading[stream], output[stream].subarray(0, byteLength));
  }
  return true;
}

interface Cut {
  readonly id: string;
  readonly where: string;
  readonly after: (bytes: number) => number;
}

const CUTS: readonly Cut[] = [
  { id: 'FLT-001', where: 'before its first byte', after: () => 0 },
  { id: 'FLT-002', where: 'behind its first byte', after: () => 1 },
  { id: 'FLT-003', where: 'in the middle', after: (bytes) => Math.floor(bytes / 2) },
  { id: 'FLT-004', where: 'before its last byte', after: (bytes) => bytes - 1 },
  { id: 'FLT-005', where: 'behind its last byte', after: (bytes) => bytes },
];

function cutCase({ id, where, after }: Cut): ConformanceCase {
  return {
    id,
    title: `makes no exit of an output whose transport breaks ${where}`,
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:cutAfter'],
    async run(t) {
      const handle = await t.sandbox();
      const output = written(t);
      const bytes = after(output.stdout.byteLength + output.stderr.byteLength);
      const heal = await t.inject('cutAfter', bytes);
      const { command, reading } = await start(t, handle, t.words.print({ ...output, exitCode: CODE }));
      if (await endedInError(reading, output)) {
        expectThat('bytes that came', reading.bytes <= bytes, `at most ${bytes}`, reading.bytes);
        await expectRejection('exit', command.exit, { code: 'unavailable' });
        const code = ['unavailable', 'invalid'] as const;
        await expectRejection('a write', command.writeStdin('x'), { code, effect: 'none' });
      }
      await heal();
      await expectUsable(t, handle);
    },
  };
}

function rejoinCase({ id, where, after }: Cut): ConformanceCase {
  return {
    id,
    title: `gives the rest once and the true exit to an attach after the transport broke ${where}`,
    level: 'MUST',
    promise: 'replay',
    needs: ['attach', 'fault:cutAfter'],
    async run(t) {
      const handle = await t.sandbox();
      const output = written(t);
      const heal = await t.inject('cutAfter', after(output.stdout.byteLength + output.stderr.byteLength));
      const { reading, id: session } = await startSession(t, handle, t.words.print({ ...output, exitCode: CODE }));
      await reading.ended;
      await heal();
      for (const from of [reading.offsets, { stdout: 0, stderr: 0 }]) {
        const rest = await attachAndRead(t, handle, session, { from });
        await expectExit(rest, CODE);
        expectOutput('what was left', rest, output, from);
      }
    },
  };
}

/** What a subscriber is told, which goes on being filled. Resolves with the first end; the bytes are `output`. */
async function frameTypes(command: SandboxCommand, output: Output): Promise<string[]> {
  const types: string[] = [];
  const pieces: Record<'stdout' | 'stderr', Uint8Array[]> = { stdout: [], stderr: [] };
  await new Promise<void>((resolve, reject) => {
    command.frames$.subscribe({
      next(frame) {
        types.push(frame.type);
        if (frame.type !== 'exit') pieces[frame.type].push(Uint8Array.from(frame.data));
      },
      error: reject,
      complete() {
        types.push('complete');
        resolve();
      },
    });
  });
  for (const stream of ['stdout', 'stderr'] as const)
    expectBytes(stream, Buffer.concat(pieces[stream]), output[stream]);
  return types;
}

/** The command is one that ends with another code when it is run again. */
function runsOnceCase(
  id: string,
  what: string,
  fault: CaseNeed,
  inject: (t: CaseContext) => Promise<Heal>,
): ConformanceCase {
  return {
    id,
    title: `runs a command once, and tells its exit or none, when ${what}`,
    level: 'MUST',
    promise: 'faults',
    needs: [fault],
    async run(t) {
      const handle = await t.sandbox();
      const heal = await inject(t);
      const ended = await t.exec(handle, t.words.makeDirectory('once')).then(
        (result) => result.exitCode,
        (error: unknown) => expectError('exec', error, { code: 'unavailable', effect: ['unknown', 'done'] }).code,
      );
      await heal();
      expectThat(
        'the end of the exec',
        ended === 'unavailable' || ended === 0,
        'a failure, or the exit of one run',
        ended,
      );
      if (ended === 0) expectEqual('whether it has run', await exists(t, handle, 'once'), true);
    },
  };
}

export const outputFaultCases: readonly ConformanceCase[] = [
  ...CUTS.map(cutCase),
  rejoinCase({ id: 'FLT-006', where: 'behind the first byte', after: () => 1 }),
  rejoinCase({ id: 'FLT-007', where: 'in the middle', after: (bytes) => Math.floor(bytes / 2) }),
  rejoinCase({ id: 'FLT-008', where: 'behind the last byte', after: (bytes) => bytes }),
  {
    id: 'FLT-009',
    title: 'makes no exit of an output that ends in good order without one',
    level: 'MUST',
    promise: 'frames',
    needs: ['fault:closeBeforeExit'],
    async run(t) {
      const handle = await t.sandbox();
      const output = written(t);
      const heal = await t.inject('closeBeforeExit');
      const command = await t.spawn(handle, t.words.print({ ...output, exitCode: CODE }));
      if (await endedInError(t.read(command), output)) {
        await expectRejection('exit', command.exit, { code: 'unavailable' });
      }
      await heal();
    },
  },
  {
    id: 'FLT-010',
    title: 'gives the true exit to an attach after an output ended without it',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach', 'fault:closeBeforeExit'],
    async run(t) {
      const handle = await t.sandbox();
      const output = written(t);
      const heal = await t.inject('closeBeforeExit');
      const { reading, id } = await startSession(t, handle, t.words.print({ ...output, exitCode: CODE }));
      await reading.ended;
      await heal();
      const again = await attachAndRead(t, handle, id);
      await expectExit(again, CODE);
      expectOutput('the session', again, output);
    },
  },
  {
    id: 'FLT-011',
    title: 'makes no result of an exec whose transport breaks',
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:cutAfter'],
    async run(t) {
      const handle = await t.sandbox();
      const heal = await t.inject('cutAfter', 1);
      // An adapter may find its way back to the process, and stays with it as long as it may.
      const call = t.exec(handle, t.words.stay(), { timeoutMs: t.ms(2_000) });
      await expectRejection('exec', call, { code: 'unavailable', effect: ['unknown', 'done'] });
      await heal();
      await expectUsable(t, handle);
    },
  },
  {
    id: 'FLT-012',
    title: 'makes no result of an exec whose exit does not come',
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:closeBeforeExit'],
    async run(t) {
      const handle = await t.sandbox();
      const heal = await t.inject('closeBeforeExit');
      const outcome = await t
        .exec(handle, t.words.print({ stdout: 'some', exitCode: CODE }))
        .catch((error: unknown) => {
          expectError('exec', error, { code: 'unavailable', effect: ['unknown', 'done'] });
          return undefined;
        });
      // The measured exit may still have been found.
      if (outcome !== undefined) expectEqual('the result', [outcome.exitCode, outcome.text()], [CODE, 'some']);
      await heal();
    },
  },
  {
    id: 'FLT-013',
    title: 'delivers each byte and one exit once though every frame comes twice',
    level: 'MUST',
    promise: 'frames',
    needs: ['fault:repeatFrames'],
    async run(t) {
      const handle = await t.sandbox();
      const output = written(t);
      const heal = await t.inject('repeatFrames');
      const frames = await frameTypes(await t.spawn(handle, t.words.print({ ...output, exitCode: CODE })), output);
      await heal();
      expectEqual(
        'ends',
        frames.filter((type) => type === 'exit' || type === 'complete'),
        ['exit', 'complete'],
      );
    },
  },
  {
    id: 'FLT-014',
    title: 'delivers nothing behind the exit, whatever still comes',
    level: 'MUST',
    promise: 'frames',
    needs: ['fault:lateFrames'],
    async run(t) {
      const handle = await t.sandbox();
      const output = written(t);
      const heal = await t.inject('lateFrames');
      const command = await t.spawn(handle, t.words.print({ ...output, exitCode: CODE }));
      const frames = await frameTypes(command, output);
      await heal();
      // What was late has come before the answer to this.
      await expectUsable(t, handle);
      expectEqual('the last of it', frames.slice(-2), ['exit', 'complete']);
      expectEqual('exit', await command.exit, { exitCode: CODE });
      expectEqual('bytes', command.outputBytes, output.stdout.byteLength + output.stderr.byteLength);
    },
  },
  {
    id: 'FLT-015',
    title: 'gives the first end of an exec, whatever still comes',
    level: 'MUST',
    promise: 'faults',
    needs: ['fault:lateFrames'],
    async run(t) {
      const handle = await t.sandbox();
      const heal = await t.inject('lateFrames');
      const { exitCode, output } = await t.exec(handle, t.words.print({ stdout: 'whole', exitCode: CODE }));
      await heal();
      expectEqual('exit code', exitCode, CODE);
      expectBytes('output', output, 'whole');
      await expectUsable(t, handle);
    },
  },
  runsOnceCase('FLT-058', 'its output ends without it', 'fault:closeBeforeExit', (t) => t.inject('closeBeforeExit')),
  runsOnceCase('FLT-059', 'its transport breaks', 'fault:cutAfter', (t) => t.inject('cutAfter', 0)),
];
