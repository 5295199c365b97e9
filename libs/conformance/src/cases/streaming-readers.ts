import type { SandboxCommand, SandboxFrame } from '#libs/contract';
import type { CaseContext } from '../case-context.js';
import type { ConformanceCase } from '../conformance-case.js';
import { expectBytes, expectEqual, expectError, expectRejection, type ExpectedError } from '../expect.js';
import { noise } from '../samples.js';
import { expectExit, startPlainPuppet } from '../session.js';
import { puppetLine } from '../vocabulary.js';
import { joined, observed, WAYS } from '../ways.js';

const CONSUMED: ExpectedError = { code: 'invalid', detail: 'already_consumed', effect: 'none' };
const DETACHED: ExpectedError = { code: 'unavailable', detail: 'detached' };
/** Milliseconds in which a reader must be told what this end knows by itself. */
const TOLD_WITHIN_MS = 10_000;

export const streamingReaderCases: readonly ConformanceCase[] = [
  {
    id: 'STR-017',
    title: 'ends frames$ with one exit frame, the last, and completes',
    level: 'MUST',
    promise: 'frames',
    async run(t) {
      const words = t.words.print({ stdout: noise(3000), stderr: 'x', exitCode: 9 });
      const command = await t.spawn(await t.sandbox(), words);
      const frames = await observed(command);
      const exits = frames.filter(({ type }) => type === 'exit');
      expectEqual('exit frames', exits, [{ type: 'exit', exitCode: 9 }]);
      expectEqual('the last frame', frames.at(-1), exits[0]);
      expectEqual('exit', await command.exit, { exitCode: 9 });
    },
  },
  {
    id: 'STR-018',
    title: 'delivers nothing before subscribe has returned, even when all of it is there',
    level: 'MUST',
    promise: 'frames',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.print({ stdout: 'here already' }));
      await command.exit;
      let returned = false;
      const early: SandboxFrame[] = [];
      const frames = observed(command, (frame) => void (returned || early.push(frame)));
      returned = true;
      expectBytes('output', joined(await frames).stdout, 'here already');
      expectEqual('frames before subscribe returned', early.length, 0);
    },
  },
  {
    id: 'STR-019',
    title: 'tells every kind of reader the same',
    level: 'MUST',
    promise: 'frames',
    async run(t) {
      const handle = await t.sandbox();
      const [stdout, stderr] = [noise(3000, 5), noise(1000, 6)];
      const words = t.words.print({ stdout, stderr, exitCode: 11 });
      for (const [way, read] of Object.entries(WAYS)) {
        const seen = await read(await t.spawn(handle, words));
        expectEqual(`exit by ${way}`, seen.exit, { exitCode: 11 });
        const bytes = seen.stdout.byteLength + seen.stderr.byteLength;
        expectEqual(`bytes by ${way}`, bytes, stdout.byteLength + stderr.byteLength);
        if (!t.tells.stderrApart) continue;
        expectBytes(`stdout by ${way}`, seen.stdout, stdout);
        expectBytes(`stderr by ${way}`, seen.stderr, stderr);
      }
      const drained = await t.spawn(handle, words);
      expectEqual('exit by drain()', await drained.drain(), { exitCode: 11 });
      expectEqual('outputBytes after drain()', drained.outputBytes, stdout.byteLength + stderr.byteLength);
    },
  },
  {
    id: 'STR-020',
    title: 'refuses a second reader of any kind, and leaves the first alone',
    level: 'MUST',
    promise: 'frames',
    async run(t) {
      const handle = await t.sandbox();
      for (const first of Object.keys(WAYS)) {
        const command = await t.spawn(handle, t.words.copyStdin('stdout'), { stdin: true });
        const reading = WAYS[first]?.(command);
        reading?.catch(() => {});
        for (const [second, read] of Object.entries(WAYS)) {
          const refusal = expectRejection(`${second} after ${first}`, read(command), CONSUMED);
          await t.within(`the refusal of ${second} after ${first}`, TOLD_WITHIN_MS, refusal);
        }
        await expectRejection(`drain() after ${first}`, command.drain(), CONSUMED);
        await command.writeStdin('unharmed');
        await command.closeStdin();
        const seen = await reading;
        expectEqual(`exit by ${first}`, seen?.exit, { exitCode: 0 });
        expectBytes(`output by ${first}`, seen?.stdout ?? new Uint8Array(), 'unharmed');
      }
    },
  },
  {
    id: 'STR-021',
    title: 'detaches when the subscriber of frames$ leaves',
    level: 'MUST',
    promise: 'detach',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.puppet(), { stdin: true });
      const subscription = command.frames$.subscribe({ error: () => {} });
      subscription.unsubscribe();
      await expectDetached(t, command);
    },
  },
  {
    id: 'STR-022',
    title: 'detaches when a loop over the frames is left early',
    level: 'MUST',
    promise: 'detach',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.puppet(), { stdin: true });
      await command.writeStdin(puppetLine({ out: 'x' }));
      for await (const frame of command) {
        expectEqual('the first frame', frame.type, 'stdout');
        break;
      }
      await expectDetached(t, command);
    },
  },
  {
    id: 'STR-023',
    title: 'detaches when both streams are destroyed',
    level: 'MUST',
    promise: 'detach',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.puppet(), { stdin: true });
      const { stdout, stderr } = command.streams();
      stdout.destroy();
      stderr.destroy();
      await expectDetached(t, command);
    },
  },
  {
    id: 'STR-024',
    title: 'detaches when a sink fails, and passes its error on as it is',
    level: 'MUST',
    promise: 'detach',
    async run(t) {
      const handle = await t.sandbox();
      const failure = new Error('of the sink');
      const sinks: Readonly<Record<string, () => void | Promise<void>>> = {
        'a sink that throws': () => {
          throw failure;
        },
        'a sink that rejects': () => Promise.reject(failure),
      };
      for (const [what, sink] of Object.entries(sinks)) {
        const command = await t.spawn(handle, t.words.puppet(), { stdin: true });
        await command.writeStdin(puppetLine({ out: 'x' }));
        const passed: unknown = await command.forEach(sink).catch((error: unknown) => error);
        expectEqual(`whether forEach with ${what} gave its error`, passed === failure, true);
        await expectDetached(t, command);
      }
    },
  },
  {
    id: 'STR-025',
    title: 'detaches on stop, twice without harm, and ends reader, exit and stdin with it',
    level: 'MUST',
    promise: 'detach',
    async run(t) {
      const handle = await t.sandbox();
      const stops = {
        stop: (command: SandboxCommand) => command.stop(),
        'asynchronous disposal': (command: SandboxCommand) => command[Symbol.asyncDispose](),
      };
      for (const [what, stop] of Object.entries(stops)) {
        const { command, reading } = await startPlainPuppet(t, handle);
        await command.writeStdin(puppetLine({ out: 'x' }));
        await reading.shows('x');
        await Promise.all([stop(command), stop(command)]);
        await stop(command);
        expectError(`what the reader ends with after ${what}`, await reading.error(), DETACHED);
        await expectDetached(t, command);
      }
    },
  },
  {
    id: 'STR-026',
    title: 'leaves the measured exit as it is when stop comes after it',
    level: 'MUST',
    promise: 'detach',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.print({ exitCode: 6 }));
      expectEqual('the exit of the reader', await command.drain(), { exitCode: 6 });
      await command.stop();
      await command[Symbol.asyncDispose]();
      expectEqual('exit', await command.exit, { exitCode: 6 });
    },
  },
  {
    id: 'STR-027',
    title: 'never lets `exit` become an unhandled rejection',
    level: 'MUST',
    promise: 'detach',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.puppet(), { stdin: true });
      const unhandled: unknown[] = [];
      const listen = (error: unknown): void => void unhandled.push(error);
      process.on('unhandledRejection', listen);
      t.defer(() => process.off('unhandledRejection', listen));
      void command.exit;
      await command.stop();
      // Node tells of a rejection that nobody handled before it goes on to the next turn.
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
      expectEqual('unhandled rejections', unhandled, []);
      await expectRejection('exit', command.exit, DETACHED);
    },
  },
  {
    id: 'STR-028',
    title: 'refuses a sink that is no function, and leaves the output unread',
    level: 'MUST',
    promise: 'errors',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.print({ stdout: 'unread' }));
      for (const sink of [undefined, {}, 'sink']) {
        const call = command.forEach(sink as () => void);
        await expectRejection('forEach', call, { code: 'invalid', detail: 'argument', effect: 'none' });
      }
      const reading = t.read(command);
      await expectExit(reading, 0, 'unread');
    },
  },
];

async function expectDetached(t: CaseContext, command: SandboxCommand): Promise<void> {
  await t.within('the end of exit', TOLD_WITHIN_MS, expectRejection('exit', command.exit, DETACHED));
  await expectRejection('writeStdin', command.writeStdin('x'), DETACHED);
  await expectRejection('closeStdin', command.closeStdin(), DETACHED);
}
