import type { ConformanceCase } from '../conformance-case.js';
import { expectBytes, expectEqual } from '../expect.js';
import type { Reading } from '../reading.js';
import {
  attachAndRead,
  countOutput,
  expectExit,
  expectObedient,
  expectOutput,
  leave,
  say,
  startPuppet,
  startSession,
} from '../session.js';

/** A promise that is awaited when others have settled, or never if one of them fails. */
function later<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

export const attachAtOnceCases: readonly ConformanceCase[] = [
  {
    id: 'ATT-040',
    title: 'gives every byte once and the exit to each of 20 attaches at random moments of a busy session',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    timeoutMs: 120_000,
    async run(t) {
      const handle = await t.sandbox();
      const both = t.tells.stderrApart;
      const last = t.volume(12_000);
      const expected = countOutput(last, both);
      const total = expected.stdout.byteLength + expected.stderr.byteLength;
      const moments = Array.from({ length: 20 }, () => Math.floor(Math.random() * total)).toSorted((a, b) => a - b);
      const joining: Promise<Reading>[] = [];
      const command = await t.spawn(handle, t.words.count(last, both), { detachable: true });
      const id = t.sessionId(command);
      const reading = t.read(command, {
        onFrame: () => {
          while (moments.length > 0 && reading.bytes >= (moments[0] as number)) {
            moments.shift();
            joining.push(later(t.attach(handle, id).then((joined) => t.read(joined))));
          }
        },
      });
      await expectExit(reading, 0);
      expectOutput('the first reader', reading, expected);
      expectEqual('attaches', joining.length, 20);
      for (const [n, joined] of (await Promise.all(joining)).entries()) {
        expectEqual(`exit for attach ${n}`, await joined.exit(), { exitCode: 0 });
        expectOutput(`attach ${n}`, joined, expected);
      }
    },
  },
  {
    id: 'ATT-041',
    title: 'gives each byte from its offsets on once to attaches while the session writes',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    timeoutMs: 120_000,
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading, id } = await startPuppet(t, handle);
      const joining: Promise<{ joined: Reading; stdout: number }>[] = [];
      let expected = '';
      for (let round = 0; round < 30; round++) {
        const text = `${round}: ${'.'.repeat(Math.floor(Math.random() * 50))}\n`;
        expected += text;
        const saying = later(say(command, text));
        const stdout = Math.floor(Math.random() * (reading.offsets.stdout + 1));
        joining.push(
          later(
            t
              .attach(handle, id, { from: { stdout } })
              .then((joined) => ({ joined: t.read(joined, { from: { stdout } }), stdout })),
          ),
        );
        await saying;
      }
      await expectObedient(command, reading, 1, expected);
      for (const { joined, stdout } of await Promise.all(joining)) {
        expectEqual(`exit for the attach from ${stdout}`, await joined.exit(), { exitCode: 1 });
        expectBytes(`the output from ${stdout} on`, joined.stdout, expected.slice(stdout));
      }
    },
  },
  {
    id: 'ATT-042',
    title: 'gives the whole and the exit to an attach that meets the exit',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    timeoutMs: 60_000,
    async run(t) {
      const handle = await t.sandbox();
      for (let round = 0; round < 25; round++) {
        const { reading, id } = await startSession(t, handle, t.words.print({ stdout: 'all of it', exitCode: 7 }));
        const joined = await attachAndRead(t, handle, id);
        for (const one of [reading, joined]) {
          await expectExit(one, 7, 'all of it');
        }
      }
    },
  },
  {
    id: 'ATT-043',
    title: 'gives the whole and the exit to attaches that meet the last words of a session',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      for (let round = 0; round < 8; round++) {
        const { command, reading, id } = await startPuppet(t, handle);
        await say(command, 'first ');
        const [, ...joined] = await Promise.all([
          say(command, 'last').then(() => leave(command, 3)),
          ...Array.from({ length: 3 }, () => attachAndRead(t, handle, id)),
        ]);
        for (const one of [reading, ...joined]) {
          await expectExit(one, 3, 'first last');
        }
      }
    },
  },
  {
    id: 'ATT-044',
    title: 'loses nothing when readers let go and join at once, many times',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, id } = await startPuppet(t, handle);
      let owner = command;
      let expected = '';
      for (let round = 0; round < 25; round++) {
        const text = `${round}\n`;
        expected += text;
        await say(owner, text);
        const [next] = await Promise.all([t.attach(handle, id, { stdin: true }), owner.stop()]);
        owner = next;
      }
      const reading = t.read(owner);
      await expectObedient(owner, reading, 0, expected);
    },
  },
  {
    id: 'ATT-045',
    title: 'gives one reader everything while others of the session come and go',
    level: 'MUST',
    promise: 'replay',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { command, reading, id } = await startPuppet(t, handle);
      let expected = '';
      for (let round = 0; round < 25; round++) {
        const text = `${round}\n`;
        expected += text;
        const visit = async (): Promise<void> => {
          const joined = await t.attach(handle, id, { from: 'now' });
          await joined.stop();
        };
        await Promise.all([say(command, text), visit(), visit()]);
      }
      await expectObedient(command, reading, 0, expected);
    },
  },
];
