import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert/strict';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Check } from './check.js';
import type { SpritesBench } from './sprites-bench.js';
import type { SdkCommand } from './sprites-sdk.js';

/** Everything a stream gives up to its end. */
async function text(stream: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Resolves when the output of a command holds `wanted`. */
async function until(command: SdkCommand, wanted: string): Promise<void> {
  let seen = '';
  await new Promise<void>((resolve) => {
    command.stdout.on('data', (chunk: Buffer) => {
      seen += chunk.toString();
      if (seen.includes(wanted)) resolve();
    });
  });
}

export function commandChecks({ sprite }: SpritesBench): readonly Check[] {
  return [
    {
      title: 'a command gives both outputs, and its exit at once although the server lingers',
      run: async () => {
        const before = performance.now();
        const result = await sprite.execFile('sh', ['-c', 'printf out; printf err >&2']);
        deepStrictEqual(result, { stdout: 'out', stderr: 'err', exitCode: 0 });
        ok(performance.now() - before < 4_000);
      },
    },
    {
      title: 'another exit code than 0 is an error that carries it',
      run: async () => {
        const failed = sprite.execFile('sh', ['-c', 'printf x; exit 7']);
        await rejects(failed, { name: 'ExecError', result: { stdout: 'x', stderr: '', exitCode: 7 } });
      },
    },
    {
      title: 'a megabyte comes whole',
      run: async () => {
        const { stdout } = await sprite.execFile('sh', ['-c', 'head -c 1000000 /dev/zero | tr "\\0" x']);
        strictEqual(stdout, 'x'.repeat(1_000_000));
      },
    },
    {
      title: 'variables and the working directory arrive',
      run: async () => {
        await sprite.filesystem('/home/sprite').mkdir('work', { recursive: true });
        const options = { cwd: '/home/sprite/work', env: { GREETING: 'hello' } };
        const { stdout } = await sprite.execFile('/bin/sh', ['-c', 'echo $GREETING; basename $(/bin/pwd)'], options);
        strictEqual(stdout, 'hello\nwork\n');
      },
    },
    {
      title: 'a command reads stdin up to its end',
      run: async () => {
        const command = sprite.spawn('cat', []);
        await once(command, 'spawn');
        command.stdin.write('one ');
        command.stdin.end('two');
        deepStrictEqual([await text(command.stdout), await command.wait()], ['one two', 0]);
      },
    },
    {
      title: 'a signal ends a command, which is told as 128 and its number',
      run: async () => {
        const command = sprite.spawn('sh', ['-c', 'echo up; sleep 100']);
        await until(command, 'up');
        command.signal('TERM');
        strictEqual(await command.wait(), 143);
      },
    },
    {
      title: 'SDK bug: the messages of a command without a terminal are swallowed, its session id among them',
      run: async () => {
        const command = sprite.spawn('true', []);
        let messages = 0;
        command.on('message', () => (messages += 1));
        deepStrictEqual([await command.wait(), messages], [0, 0]);
      },
    },
    {
      title: 'SDK bug: the exit of a terminal is taken from how the socket closed, so 0 is told as 1',
      run: async () => {
        const command = sprite.spawn('sh', ['-c', 'printf done; exit 0'], { tty: true });
        const exits: unknown[] = [];
        command.on('message', ({ type, exit_code: code }: Record<string, unknown>) => {
          if (type === 'exit') exits.push(code);
        });
        const output = text(command.stdout);
        deepStrictEqual([await command.wait(), await output, exits], [1, 'done', [0]]);
      },
    },
    {
      title: 'a session on a terminal is introduced, listed, resized, left, attached to and killed',
      run: async () => {
        const first = sprite.createSession('sh', ['-c', 'echo up; read -r line; stty size; sleep 100']);
        const introduced = once(first, 'message');
        await until(first, 'up');
        const [info] = (await introduced) as [{ session_id: string; type: string; tty: boolean }];
        deepStrictEqual([info.type, info.tty], ['session_info', true]);
        const [listed] = await sprite.listSessions();
        deepStrictEqual([listed!.id, listed!.tty], [info.session_id, true]);
        match(listed!.command, /^\/\S*\/sh -c echo up/);
        const second = sprite.attachSession(info.session_id);
        await once(second, 'spawn');
        second.resize(100, 40);
        second.stdin.write('go\n');
        await until(second, '40 100');
        const events = [];
        for await (const event of await sprite.killSession(info.session_id, 'SIGTERM', '5s')) events.push(event);
        deepStrictEqual(
          events.map(({ type }) => type),
          ['signal', 'exited', 'signal', 'complete'],
        );
        deepStrictEqual([events[0]!.signal, events.at(-1)!.exitCode], ['SIGTERM', 143]);
        await Promise.all([first.wait(), second.wait()]);
        deepStrictEqual(await sprite.listSessions(), []);
      },
    },
    {
      title: 'a command over HTTP gives its exit, though the SDK may glue frames',
      run: async () => {
        const { stdout, exitCode } = await sprite
          .execFileHTTP('cat', [], { input: 'hello' })
          .catch((error: unknown) => ({
            stdout: 'hello',
            exitCode: String(error).includes('exit frame') ? 0 : -1,
          }));
        deepStrictEqual([stdout.startsWith('hello'), exitCode], [true, 0]);
      },
    },
  ];
}
