import type { ConformanceCase } from '../conformance-case.js';
import { expectRejection } from '../expect.js';
import { say } from '../session.js';
import { readPattern, standstill } from '../standstill.js';
import { drained, WAYS } from '../ways.js';

/** Milliseconds in which a reader must be told what is known already. */
const TOLD_WITHIN_MS = 10_000;

/** Whoever reads late misses nothing: neither output nor how it ended. */
export const lateReaderCases: readonly ConformanceCase[] = [
  {
    id: 'STR-038',
    title: 'holds back a command that nobody reads, and keeps what it wrote for whoever does then',
    level: 'MUST',
    promise: 'back-pressure',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.flood());
      const seen = await standstill(t, command);
      const reading = readPattern(t, command);
      await reading.until('it goes on', () => reading.bytes > 2 * seen);
      await command.stop();
    },
  },
  {
    id: 'STR-039',
    title: 'tells every kind of reader that comes too late that the command was let go of',
    level: 'MUST',
    promise: 'detach',
    async run(t) {
      const handle = await t.sandbox();
      for (const [way, read] of Object.entries({ ...WAYS, 'drain()': drained })) {
        const command = await t.spawn(handle, t.words.puppet(), { stdin: true });
        await say(command, 'unread');
        await t.eventually('its output', () => command.outputBytes > 0 || undefined);
        await command.stop();
        const rejection = expectRejection(way, read(command), { code: 'unavailable', detail: 'detached' });
        await t.within(`the end by ${way}`, TOLD_WITHIN_MS, rejection);
      }
    },
  },
];
