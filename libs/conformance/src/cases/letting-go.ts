import { Writable } from 'node:stream';
import type { ConformanceCase } from '../conformance-case.js';
import { expectBytes, expectEqual, expectRejection, expectThat } from '../expect.js';
import { expectExit, expectListed, expectObedient, leave, say, startPuppet } from '../session.js';
import { expectNothingUncaught } from '../uncaught.js';
import { collect, LETTING_GO } from '../ways.js';

/** More than pipes and requests on the way can hold. */
const MUCH = 8 * 1024 * 1024;

/** What is left when this end lets go, or one of its streams. */
export const lettingGoCases: readonly ConformanceCase[] = [
  {
    id: 'SES-017',
    title: 'keeps a session running, whichever way its command is let go of',
    level: 'MUST',
    promise: 'detach',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      for (const [way, letGo] of Object.entries(LETTING_GO)) {
        const command = await t.spawn(handle, t.words.puppet(), { stdin: true, detachable: true });
        await say(command, 'before ');
        await t.eventually('its output', () => command.outputBytes > 0 || undefined);
        await letGo(command);
        await expectRejection(`exit after ${way}`, command.exit, { code: 'unavailable', detail: 'detached' });
        const id = t.sessionId(command);
        await expectListed(t, handle, [id]);
        const again = await t.attach(handle, id, { stdin: true });
        await say(again, 'and after');
        await leave(again, 5);
        await expectExit(t.read(again), 5, 'before and after');
      }
    },
  },
  {
    id: 'STR-035',
    title: 'goes on with one stream when the other, which nobody wants, is destroyed',
    level: 'SHOULD',
    promise: 'detach',
    async run(t) {
      const handle = await t.sandbox();
      const command = await t.spawn(handle, t.words.copyStdin('stdout'), { stdin: true });
      const { stdout, stderr } = command.streams();
      stderr.destroy();
      const collecting = collect(stdout);
      collecting.catch(() => {});
      await command.writeStdin('still here');
      await command.closeStdin();
      expectBytes('stdout', await collecting, 'still here');
      expectEqual('exit', await command.exit, { exitCode: 0 });
    },
  },
  {
    id: 'ATT-012',
    title: 'takes no notice of the signal of an attach that fires when the attach is over',
    level: 'MUST',
    promise: 'deadlines',
    needs: ['attach'],
    async run(t) {
      const handle = await t.sandbox();
      const { id } = await startPuppet(t, handle);
      const over = new AbortController();
      const joined = await t.attach(handle, id, { stdin: true, signal: over.signal });
      const reading = t.read(joined);
      over.abort();
      await say(joined, 'heard');
      await expectObedient(joined, reading, 3, 'heard');
    },
  },
  {
    id: 'STR-037',
    title: 'lets no error of a stream that nobody listens to reach the process',
    level: 'MUST',
    promise: 'detach',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.stay());
      const { stdout, stderr } = command.streams();
      await expectNothingUncaught(t, async () => {
        for (const stream of [stdout, stderr]) stream.resume();
        await command.stop();
        await t.eventually('that both are destroyed', () => (stdout.destroyed && stderr.destroyed) || undefined);
      });
      await expectRejection('exit', command.exit, { code: 'unavailable', detail: 'detached' });
    },
  },
  {
    id: 'STD-023',
    title: 'lets no error of a Writable that nobody listens to reach the process',
    level: 'MUST',
    promise: 'stdin',
    async run(t) {
      const command = await t.spawn(await t.sandbox(), t.words.pause(300), { stdin: true });
      const { stdin } = command;
      expectThat('stdin', stdin instanceof Writable, 'a Writable', stdin);
      await expectNothingUncaught(t, async () => {
        stdin.write(new Uint8Array(MUCH));
        await command.drain();
        stdin.write('late');
      });
      await expectRejection('a write', command.writeStdin('late'), { code: 'command_exited' });
    },
  },
];
