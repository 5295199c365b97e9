import { deepStrictEqual, match, rejects, strictEqual } from 'node:assert/strict';
import type { Check } from './check.js';
import { until, type DaytonaBench } from './daytona-bench.js';

export function processChecks({ sandbox }: DaytonaBench): readonly Check[] {
  const { process } = sandbox;
  return [
    {
      title: 'a command gives its exit code and both outputs as one',
      run: async () => {
        const { exitCode, result } = await process.executeCommand('printf out; printf err >&2; exit 7');
        deepStrictEqual([exitCode, result], [7, 'outerr']);
      },
    },
    {
      title: 'variables and the working directory arrive',
      run: async () => {
        await sandbox.fs.createFolder('work', '755');
        const { result } = await process.executeCommand('echo $GREETING; basename $(pwd)', 'work', { GREETING: 'hi' });
        strictEqual(result, 'hi\nwork\n');
      },
    },
    {
      title: 'a command that takes too long is ended and told of',
      run: async () => {
        const late = process.executeCommand('sleep 100', undefined, undefined, 1);
        await rejects(late, { statusCode: 408 });
      },
    },
    {
      title: 'a session keeps its directory and its variables from one command to the next',
      run: async () => {
        await process.createSession('one');
        await process.executeSessionCommand('one', { command: 'cd work; export KEPT=yes' });
        const second = await process.executeSessionCommand('one', {
          command: 'basename $PWD; echo $KEPT >&2; (exit 3)',
        });
        deepStrictEqual([second.stdout, second.stderr, second.exitCode], ['work\n', 'yes\n', 3]);
        const { sessionId, commands } = await process.getSession('one');
        deepStrictEqual([sessionId, commands!.length], ['one', 2]);
        await rejects(process.createSession('one'), { name: 'DaytonaConflictError' });
      },
    },
    {
      title: 'a command in the background is followed over a WebSocket from its first byte to its end',
      run: async () => {
        const started = await process.executeSessionCommand('one', {
          command: 'echo first; read -r line; echo "got $line"; echo wrong >&2; (exit 5)',
          runAsync: true,
          suppressInputEcho: true,
        });
        await until(async () => (await process.getSessionCommandLogs('one', started.cmdId)).stdout === 'first\n');
        const seen = { out: '', err: '' };
        const ended = process.getSessionCommandLogs(
          'one',
          started.cmdId,
          (chunk) => (seen.out += chunk),
          (chunk) => (seen.err += chunk),
        );
        await process.sendSessionCommandInput('one', started.cmdId, 'input');
        await ended;
        deepStrictEqual(seen, { out: 'first\ngot input\n', err: 'wrong\n' });
        strictEqual((await process.getSessionCommand('one', started.cmdId)).exitCode, 5);
        const { stdout, stderr } = await process.getSessionCommandLogs('one', started.cmdId);
        deepStrictEqual([stdout, stderr], ['first\ngot input\n', 'wrong\n']);
        await rejects(process.sendSessionCommandInput('one', started.cmdId, 'more'), { statusCode: 410 });
      },
    },
    {
      title: 'a session that is deleted ends what runs in it',
      run: async () => {
        await process.createSession('two');
        const { cmdId } = await process.executeSessionCommand('two', { command: 'echo $$; sleep 100', runAsync: true });
        let pid = '';
        await until(async () => {
          pid = (await process.getSessionCommandLogs('two', cmdId)).stdout ?? '';
          return pid !== '';
        });
        match(pid, /^\d+\n$/);
        await process.deleteSession('two');
        const { exitCode } = await process.executeCommand(`kill -0 ${pid}`);
        strictEqual(exitCode, 1);
        deepStrictEqual(
          (await process.listSessions()).map(({ sessionId }) => sessionId),
          ['one'],
        );
        await rejects(process.getSession('two'), { name: 'DaytonaNotFoundError' });
      },
    },
  ];
}
