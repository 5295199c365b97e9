import { deepStrictEqual, strictEqual } from 'node:assert/strict';
import type { Check } from './check.js';
import { until, type DaytonaBench } from './daytona-bench.js';

export function terminalChecks({ sandbox }: DaytonaBench): readonly Check[] {
  const { process } = sandbox;
  /** Options of a terminal that keep what it prints. */
  const keeping = (seen: { text: string }) => ({
    onData: (data: Uint8Array) => {
      seen.text += Buffer.from(data).toString();
    },
  });
  return [
    {
      title: 'a terminal is made, typed into, resized and left by its exit',
      run: async () => {
        const seen = { text: '' };
        const options = { id: 'term', cols: 100, rows: 30, envs: { GREETING: 'hello' }, ...keeping(seen) };
        const terminal = await process.createPty(options);
        await terminal.waitForConnection();
        await terminal.sendInput('echo "<$GREETING $(stty size)>"\n');
        await until(() => seen.text.includes('<hello 30 100>'));
        await terminal.resize(90, 20);
        await terminal.sendInput('echo "<$(stty size)>"\n');
        await until(() => seen.text.includes('<20 90>'));
        deepStrictEqual(
          (await process.listPtySessions()).map(({ id, cols }) => ({ id, cols })),
          [{ id: 'term', cols: 90 }],
        );
        await terminal.sendInput('exit 3\n');
        strictEqual((await terminal.wait()).exitCode, 3);
        deepStrictEqual(await process.listPtySessions(), []);
      },
    },
    {
      title: 'a second client shares a terminal, and a kill ends both with 137',
      run: async () => {
        const seen = [{ text: '' }, { text: '' }] as const;
        const first = await process.createPty({ id: 'shared', ...keeping(seen[0]) });
        await first.waitForConnection();
        const second = await process.connectPty('shared', keeping(seen[1]));
        await second.waitForConnection();
        await first.sendInput('echo "<$((40 + 2))>"\n');
        await until(() => seen.every(({ text }) => text.includes('<42>')));
        await process.killPtySession('shared');
        deepStrictEqual([(await first.wait()).exitCode, (await second.wait()).exitCode], [137, 137]);
      },
    },
  ];
}
