import type { TerminalSize } from '#libs/contract';
import type { CaseContext } from '../case-context.js';
import type { ConformanceCase } from '../conformance-case.js';
import { expectNothingAt } from '../errands.js';
import { expectBytes, expectEqual, expectError, expectRejection } from '../expect.js';
import type { Reading } from '../reading.js';
import { expectExit, expectTerminated, start, startSession, type Started } from '../session.js';
import type { Words } from '../vocabulary.js';

const INVALID = { code: 'invalid', detail: 'argument', effect: 'none' } as const;
const ETX = '\x03';

const NO_SIZES: readonly unknown[] = [
  { cols: 0, rows: 24 },
  { cols: 80, rows: 0 },
  { cols: 65_536, rows: 24 },
  { cols: 80.5, rows: 24 },
  { cols: 80, rows: -1 },
  { cols: 80 },
  { cols: '80', rows: 24 },
  [80, 24],
  80,
];

function showSize(t: CaseContext): Words {
  const words = t.words.showTerminalSize?.();
  if (words === undefined) throw new Error('this case must declare that it needs word:showTerminalSize');
  return words;
}

/** The lines of a terminal, which ends them with a carriage return and a line feed. */
async function expectLine(reading: Reading, line: string): Promise<void> {
  await reading.until(`the line ${line}`, () => reading.stdout.toString('latin1').split(/\r?\n/).includes(line));
}

/** A terminal that shows its size, of 91 columns and 33 rows. */
async function startSized(t: CaseContext): Promise<Started> {
  const options = { stdin: true, tty: { cols: 91, rows: 33 } };
  const terminal = await start(t, await t.sandbox(), showSize(t), options);
  await expectLine(terminal.reading, '33 91');
  return terminal;
}

export const terminalCases: readonly ConformanceCase[] = [
  {
    id: 'TTY-001',
    title: 'gives a terminal the size that was asked for',
    level: 'MUST',
    promise: 'processes',
    needs: ['tty', 'word:showTerminalSize'],
    async run(t) {
      await startSized(t);
    },
  },
  {
    id: 'TTY-002',
    title: 'gives a terminal of which no size was asked 80 columns and 24 rows',
    level: 'MUST',
    promise: 'processes',
    needs: ['tty', 'word:showTerminalSize'],
    async run(t) {
      await expectLine(await t.run(await t.sandbox(), showSize(t), { stdin: true, tty: true }), '24 80');
    },
  },
  {
    id: 'TTY-003',
    title: 'changes the size of a terminal as often as it is told',
    level: 'MUST',
    promise: 'processes',
    needs: ['tty', 'word:showTerminalSize'],
    async run(t) {
      const { command, reading } = await startSized(t);
      for (const size of [
        { cols: 120, rows: 40 },
        { cols: 40, rows: 10 },
        { cols: 200, rows: 1 },
      ]) {
        await command.resize(size);
        await command.writeStdin('\n');
        await expectLine(reading, `${size.rows} ${size.cols}`);
      }
    },
  },
  {
    id: 'TTY-004',
    title: 'does nothing for a resize after the exit',
    level: 'MUST',
    promise: 'processes',
    needs: ['tty'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading } = await start(t, handle, t.words.print({ exitCode: 3 }), { tty: true });
      await expectExit(reading, 3);
      await command.resize({ cols: 100, rows: 30 });
      await command.resize({ cols: 101, rows: 31 });
    },
  },
  {
    id: 'TTY-005',
    title: 'refuses to resize a command that has no terminal',
    level: 'MUST',
    promise: 'errors',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.stay());
      const call = command.resize({ cols: 100, rows: 30 });
      await expectRejection('resize', call, { code: 'not_supported', effect: 'none' });
    },
  },
  {
    id: 'TTY-006',
    title: 'refuses a size that is none before it starts anything',
    level: 'MUST',
    promise: 'errors',
    async run(t) {
      const handle = await t.sandbox();
      const before = t.subject.insight?.requestCount?.();
      for (const size of NO_SIZES) {
        const { cmd, args } = t.words.touch('ran');
        const call = t.adapter.spawn(handle, cmd, args, { tty: size as TerminalSize });
        await expectRejection(`a terminal of ${JSON.stringify(size)}`, call, INVALID);
      }
      expectEqual('requests', t.subject.insight?.requestCount?.(), before);
      await expectNothingAt(t, handle, 'ran');
    },
  },
  {
    id: 'TTY-007',
    title: 'refuses to resize a terminal to a size that is none, and leaves it',
    level: 'MUST',
    promise: 'errors',
    needs: ['tty', 'word:showTerminalSize'],
    async run(t) {
      const { command, reading } = await startSized(t);
      for (const size of NO_SIZES) {
        await expectRejection(`resize to ${JSON.stringify(size)}`, command.resize(size as TerminalSize), INVALID);
      }
      const seen = reading.stdout.byteLength;
      await command.writeStdin('\n');
      await reading.until('the next line', () => reading.stdout.subarray(seen).includes('\n'));
      expectBytes('the size', Buffer.from(reading.stdout.subarray(seen).toString().trim()), '33 91');
    },
  },
  {
    id: 'TTY-008',
    title: 'gives everything that is written to a terminal as stdout, byte for byte',
    level: 'MUST',
    promise: 'bytes',
    needs: ['tty'],
    async run(t) {
      const handle = await t.sandbox();
      // What a terminal may translate is left out.
      const [stdout, stderr] = [Buffer.from([0x1b, 0x5b, 0x33, 0x31, 0x6d, 0xff, 0xc3, 0x28]), Buffer.from('error')];
      const reading = await t.run(handle, t.words.print({ stdout, stderr, exitCode: 2 }), { tty: true });
      await expectExit(reading, 2);
      expectBytes('stdout', reading.stdout, Buffer.concat([stdout, stderr]));
      expectBytes('stderr', reading.stderr, '');
    },
  },
  {
    id: 'TTY-009',
    title: 'interrupts what runs on a terminal when byte 3 is written',
    level: 'SHOULD',
    promise: 'stdin',
    needs: ['tty'],
    async run(t) {
      const { command, reading } = await start(t, await t.sandbox(), t.words.stay(), { stdin: true, tty: true });
      await expectLine(reading, 'ready');
      await command.writeStdin(ETX);
      const { exitCode } = await t.within('the end', 10_000, reading.exit());
      expectEqual('exit code', exitCode, 130);
    },
  },
  {
    id: 'TTY-010',
    title: 'tells of a listed session that it has a terminal',
    level: 'SHOULD',
    promise: 'sessions',
    needs: ['tty', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      await startSession(t, handle, t.words.stay(), { tty: true });
      expectEqual(
        'tty',
        (await t.adapter.listSessions(handle)).map(({ tty }) => tty),
        [true],
      );
    },
  },
  {
    id: 'TTY-011',
    title: 'goes on with a terminal from `now`, writable and of any size',
    level: 'MUST',
    promise: 'sessions',
    needs: ['tty', 'attach', 'word:showTerminalSize'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading, id } = await startSession(t, handle, showSize(t), { stdin: true, tty: true });
      await expectLine(reading, '24 80');
      await command.stop();
      const again = await t.attach(handle, id, { from: 'now', stdin: true });
      let text = '';
      const seen = again.forEach(({ data }) => void (text += Buffer.from(data).toString('latin1')));
      seen.catch(() => {});
      await again.resize({ cols: 132, rows: 50 });
      await again.writeStdin('\n');
      await t.eventually('the new size', () => text.split(/\r?\n/).includes('50 132') || undefined);
    },
  },
  {
    id: 'TTY-012',
    title: 'replays a terminal from its beginning exactly, or says that it was not recorded',
    level: 'MAY',
    promise: 'replay',
    needs: ['tty', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { reading, id } = await startSession(t, handle, t.words.stay(), { tty: true });
      await expectLine(reading, 'ready');
      const written = Buffer.from(reading.stdout);
      const attaching = t.attach(handle, id).catch((error: unknown) => {
        expectError('attach', error, { code: 'truncated', effect: 'none' });
        return undefined;
      });
      const joined = await attaching;
      if (joined === undefined) return;
      const replay = t.read(joined);
      await replay.until('what was written', () => replay.bytes >= written.byteLength);
      expectBytes('the replay', replay.stdout, written);
    },
  },
  {
    id: 'TTY-013',
    title: 'terminates what runs on a terminal',
    level: 'MUST',
    promise: 'terminate',
    needs: ['tty', 'terminate_session', 'attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { reading, id } = await startSession(t, handle, t.words.stay(), { tty: true });
      await expectLine(reading, 'ready');
      await t.adapter.terminateSession(handle, id);
      await expectTerminated(t, reading);
    },
  },
];
