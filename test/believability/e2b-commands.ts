import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import type { Check } from './check.js';
import type { E2bBench } from './e2b-bench.js';

/** Resolves once `wanted` was printed; hand `onData` to the SDK. */
function until(wanted: string): { readonly seen: Promise<void>; readonly onData: (data: string | Uint8Array) => void } {
  let text = '';
  let found: () => void = () => {};
  const seen = new Promise<void>((resolve) => (found = resolve));
  const onData = (data: string | Uint8Array) => {
    text += typeof data === 'string' ? data : Buffer.from(data).toString();
    if (text.includes(wanted)) found();
  };
  return { seen, onData };
}

export function commandChecks({ sandbox }: E2bBench): readonly Check[] {
  const { commands, pty } = sandbox;
  return [
    {
      title: 'a command gives both outputs and exit 0, which is not on the wire',
      run: async () => {
        const { stdout, stderr, exitCode } = await commands.run('printf out; printf err >&2');
        deepStrictEqual([stdout, stderr, exitCode], ['out', 'err', 0]);
      },
    },
    {
      title: 'another exit code than 0 is an error that carries it',
      run: async () => {
        await rejects(commands.run('printf x; exit 7'), { name: 'CommandExitError', exitCode: 7, stdout: 'x' });
        await rejects(commands.run('no-such-program-here'), { exitCode: 127 });
      },
    },
    {
      title: 'a megabyte comes whole',
      run: async () => {
        const { stdout } = await commands.run('head -c 1000000 /dev/zero | tr "\\0" x');
        strictEqual(stdout, 'x'.repeat(1_000_000));
      },
    },
    {
      title: 'variables, the working directory and the user arrive',
      run: async () => {
        await sandbox.files.makeDir('work');
        const { stdout } = await commands.run('echo $GREETING $USER; basename $(pwd)', {
          cwd: '/home/user/work',
          envs: { GREETING: 'hello' },
        });
        strictEqual(stdout, 'hello user\nwork\n');
        await rejects(commands.run('true', { user: 'nobody-here' }), { name: 'AuthenticationError' });
        await rejects(commands.run('true', { cwd: '/nowhere' }), { name: 'InvalidArgumentError' });
      },
    },
    {
      title: 'a command in the background reads stdin up to its end',
      run: async () => {
        const handle = await commands.run('cat', { background: true, stdin: true });
        await commands.sendStdin(handle.pid, 'one ');
        await commands.sendStdin(handle.pid, 'two');
        await commands.closeStdin(handle.pid);
        strictEqual((await handle.wait()).stdout, 'one two');
      },
    },
    {
      title: 'a command is listed, left, connected to without a replay, and killed',
      run: async () => {
        const early = until('early');
        const first = await commands.run('echo early; read -r line; echo late; exec sleep 100', {
          background: true,
          stdin: true,
          onStdout: early.onData,
        });
        await early.seen;
        const listed = (await commands.list()).find(({ pid }) => pid === first.pid)!;
        deepStrictEqual([listed.cmd, listed.args[0]], ['/bin/bash', '-l']);
        await first.disconnect();
        const late = until('late');
        const second = await commands.connect(first.pid, { onStdout: late.onData });
        await commands.sendStdin(first.pid, 'go\n');
        await late.seen;
        strictEqual(second.stdout, 'late\n');
        strictEqual(await commands.kill(first.pid), true);
        await rejects(second.wait(), { name: 'CommandExitError', exitCode: -1 });
        strictEqual(await commands.kill(first.pid), false);
      },
    },
    {
      title: 'the time of a command is a kill',
      run: async () => {
        const marker = until('up');
        const run = commands.run('echo up; exec sleep 100', { timeoutMs: 1_500, onStdout: marker.onData });
        await marker.seen;
        await rejects(run, { name: 'TimeoutError' });
        // Told at once; the process is reaped a moment later.
        while ((await commands.list()).length > 0) continue;
      },
    },
    {
      title: 'a terminal is made, resized and typed to',
      run: async () => {
        const sized = until('40 100');
        const handle = await pty.create({ cols: 80, rows: 24, onData: sized.onData });
        await pty.resize(handle.pid, { cols: 100, rows: 40 });
        await pty.sendInput(handle.pid, Buffer.from('stty size\n'));
        await sized.seen;
        ok(await pty.kill(handle.pid));
        await rejects(handle.wait(), { name: 'CommandExitError' });
      },
    },
  ];
}
