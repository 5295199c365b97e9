import { describe, expect, test } from '@jest/globals';
import { Observable, lastValueFrom, toArray } from 'rxjs';
import {
  SandboxError,
  sandboxHandle,
  type AttachRequest,
  type CommandChannel,
  type ExecRequest,
  type NetworkPolicy,
  type OutputFrame,
  type SandboxFrame,
  type SandboxHandle,
  type SpawnRequest,
  type WriteFileRequest,
} from '#libs/contract';
import type { SessionSink } from '#libs/protocol';
import { turns } from './connected-peer.js';
import { FakeAdapter, type FakeAdapterOptions } from './fake-adapter.js';
import type { FakeProgram } from './fake-program.js';
import { ManualClock } from './manual-clock.js';

// Whatever an adapter can get wrong can be made of the fake, by overriding what is protected: one defect a class.

type Mutant = new (options: FakeAdapterOptions) => FakeAdapter;
type Item = Parameters<SessionSink['frame']>[0];

const programs: Record<string, FakeProgram> = {
  show: ({ args, env, dir }) => {
    seen.push({ args, a: env['A'], dir });
    return 0;
  },
  cat: async (process) => {
    for await (const piece of process.stdin) await process.write('stdout', piece);
    return 0;
  },
  run: async (process) => {
    await process.write('stdout', 'one');
    await process.write('stderr', 'two');
    await process.write('stdout', Buffer.from([0xff]));
    return 3;
  },
  stay: (process) => {
    process.ended.addEventListener('abort', () => seen.push('ended'));
    return new Promise(() => {});
  },
  lose: (process) => (process.drop(), 0),
};
let seen: unknown[] = [];

async function make(Kind: Mutant) {
  seen = [];
  const clock = new ManualClock();
  const fake = new Kind({ programs, clock });
  return { fake, clock, box: await fake.create('box') };
}

async function output(fake: FakeAdapter, box: SandboxHandle, cmd = 'run'): Promise<unknown[]> {
  const command = await fake.spawn(box, cmd);
  const frames: unknown[] = [];
  try {
    for await (const frame of command) {
      frames.push(frame.type === 'exit' ? frame.exitCode : `${frame.type}:${Buffer.from(frame.data).toString('hex')}`);
    }
  } catch (error) {
    frames.push((error as SandboxError).detail);
  }
  return frames;
}

/** A sink that is spoiled by one function. */
const through = (sink: SessionSink, frame: (item: Item, pass: (item: Item) => void) => void): SessionSink => ({
  frame: (item) => frame(item, (one) => sink.frame(one)),
  error: (error) => sink.error(error),
});

const text = (data: Uint8Array) => Buffer.from(data).toString();

describe('output', () => {
  class DropsLastChunk extends FakeAdapter {
    protected override sink(sink: SessionSink): SessionSink {
      let held: OutputFrame | undefined;
      return through(sink, (item, pass) => {
        if (item.type === 'exit') return pass(item);
        if (held) pass(held);
        held = item;
      });
    }
  }
  class ExitFirst extends FakeAdapter {
    protected override sink(sink: SessionSink): SessionSink {
      return through(sink, (item, pass) => void (item.type === 'exit' && pass(item)));
    }
  }
  class ZeroOnClosed extends FakeAdapter {
    protected override sink(sink: SessionSink): SessionSink {
      return { frame: (item) => sink.frame(item), error: () => sink.frame({ type: 'exit', exitCode: 0 }) };
    }
  }
  class SwallowsStderr extends FakeAdapter {
    protected override sink(sink: SessionSink): SessionSink {
      return through(sink, (item, pass) => void (item.type !== 'stderr' && pass(item)));
    }
  }
  class MergesStderr extends FakeAdapter {
    protected override sink(sink: SessionSink): SessionSink {
      return through(sink, (item, pass) => pass(item.type === 'stderr' ? { ...item, type: 'stdout' } : item));
    }
  }
  class Decodes extends FakeAdapter {
    protected override sink(sink: SessionSink): SessionSink {
      return through(sink, (item, pass) =>
        pass('data' in item ? { ...item, data: Buffer.from(text(item.data)) } : item),
      );
    }
  }

  test.each<[string, Mutant, string, unknown[]]>([
    ['is whole', FakeAdapter, 'run', ['stdout:6f6e65', 'stderr:74776f', 'stdout:ff', 3]],
    ['has an honest end', FakeAdapter, 'lose', ['closed_before_exit']],
    ['may lack its last chunk', DropsLastChunk, 'run', ['stdout:6f6e65', 'stderr:74776f', 3]],
    ['may come after the exit, to nobody', ExitFirst, 'run', [3]],
    ['may end with an invented exit', ZeroOnClosed, 'lose', [0]],
    ['may lack stderr', SwallowsStderr, 'run', ['stdout:6f6e65', 'stdout:ff', 3]],
    ['may be merged', MergesStderr, 'run', ['stdout:6f6e65', 'stdout:74776f', 'stdout:ff', 3]],
    ['may be decoded', Decodes, 'run', ['stdout:6f6e65', 'stderr:74776f', 'stdout:efbfbd', 3]],
  ])('%s', async (_, Kind, cmd, expected) => {
    const { fake, box } = await make(Kind);
    expect(await output(fake, box, cmd)).toEqual(expected);
  });

  test('may be replayed from the wrong byte', async () => {
    class OneFurther extends FakeAdapter {
      protected override doAttach(handle: SandboxHandle, request: AttachRequest) {
        const { from } = request;
        return super.doAttach(handle, {
          ...request,
          from: from === 'now' ? from : { ...from, stdout: from.stdout + 1 },
        });
      }
    }
    const { fake, box } = await make(OneFurther);
    const first = await fake.spawn(box, 'run');
    await first.drain();
    const joined = await fake.attach(box, first.sessionId ?? '');
    let printed = '';
    await joined.forEach(({ type, data }) => void (printed += type === 'stdout' ? text(data) : ''));
    expect(printed).toBe('ne\ufffd');
  });

  test('may end twice, and come before whoever subscribes', async () => {
    class TwoEnds extends FakeAdapter {
      protected override async doSpawn(handle: SandboxHandle, request: SpawnRequest) {
        const command = await super.doSpawn(handle, request);
        const frames$ = new Observable<SandboxFrame>((subscriber) => {
          subscriber.next({ type: 'exit', exitCode: 0 });
          subscriber.next({ type: 'exit', exitCode: 0 });
          subscriber.complete();
        });
        return Object.defineProperty(command, 'frames$', { value: frames$ });
      }
    }
    const { fake, box } = await make(TwoEnds);
    const { frames$ } = await fake.spawn(box, 'run');
    expect(await lastValueFrom(frames$.pipe(toArray()))).toHaveLength(2);
  });
});

describe('stdin', () => {
  const typed = async (Kind: Mutant) => {
    const { fake, box } = await make(Kind);
    const command = await fake.spawn(box, 'cat', [], { stdin: true });
    let printed = '';
    const reading = command.forEach(({ data }) => void (printed += text(data)));
    for (const piece of ['a', 'b']) await command.writeStdin(piece);
    await command.closeStdin();
    const end = await Promise.race([reading, turns(5).then(() => 'open')]);
    return { printed, end, command };
  };
  class Reorders extends FakeAdapter {
    protected override channel(channel: CommandChannel): CommandChannel {
      let first: Uint8Array | undefined;
      return {
        write: async (data) => {
          if (first === undefined) first = data;
          else for (const one of [data, first]) await channel.write(one);
        },
        taken: (bytes) => channel.taken(bytes),
        closeStdin: () => channel.closeStdin(),
        stop: () => channel.stop(),
      };
    }
  }
  class LosesEof extends FakeAdapter {
    protected override channel(channel: CommandChannel): CommandChannel {
      return {
        write: (data) => channel.write(data),
        taken: (bytes) => channel.taken(bytes),
        closeStdin: async () => {},
        stop: () => channel.stop(),
      };
    }
  }
  class HangsAfterExit extends FakeAdapter {
    protected override async doSpawn(handle: SandboxHandle, request: SpawnRequest) {
      const command = await super.doSpawn(handle, request);
      const write = command.writeStdin.bind(command);
      return Object.assign(command, { writeStdin: (data: string) => write(data).catch(() => new Promise(() => {})) });
    }
  }

  test.each<[string, Mutant, object]>([
    ['is kept in order, to its end', FakeAdapter, { printed: 'ab', end: { exitCode: 0 } }],
    ['may be out of order', Reorders, { printed: 'ba', end: { exitCode: 0 } }],
    ['may have no end', LosesEof, { printed: 'ab', end: 'open' }],
  ])('%s', async (_, Kind, expected) => {
    expect(await typed(Kind)).toMatchObject(expected);
  });

  test('may hang after the exit', async () => {
    const { command } = await typed(HangsAfterExit);
    expect(await Promise.race([command.writeStdin('x'), turns(5).then(() => 'open')])).toBe('open');
  });
});

describe('a call', () => {
  test('may ignore what it was given', async () => {
    class Ignores extends FakeAdapter {
      protected override doExec(handle: SandboxHandle, request: ExecRequest) {
        const { timeoutMs: _, dir: __, signal: ___, ...rest } = request;
        const args = request.args.join(' ').split(' ');
        return super.doExec(handle, { ...rest, args, env: [], maxOutputBytes: Infinity });
      }
    }
    const { fake, box, clock } = await make(Ignores);
    await fake.exec(box, 'show', ['a b'], { env: { A: '1' }, dir: '/tmp' });
    expect(seen).toEqual([{ args: ['a', 'b'], a: undefined, dir: '/home/sandbox' }]);
    expect(await fake.exec(box, 'run', [], { maxOutputBytes: 1 })).toMatchObject({ exitCode: 3 });
    const abort = new AbortController();
    const exec = fake.exec(box, 'stay', [], { timeoutMs: 1, signal: abort.signal });
    await turns();
    abort.abort();
    clock.advance(10_000);
    expect(await Promise.race([exec, turns(5).then(() => 'open')])).toBe('open');
  });

  test('may forget a name, miss an error, or take the wrong one', async () => {
    class Wrong extends FakeAdapter {
      protected override async doListAllNames() {
        return (await super.doListAllNames()).slice(1);
      }
      protected override doGet(handle: SandboxHandle) {
        return super.doGet(handle).catch(() => Promise.reject(new SandboxError('not_found')));
      }
      protected override async doResume(handle: SandboxHandle) {
        return sandboxHandle(this.provider, handle.name);
      }
      protected override async doApplyNetworkPolicy(handle: SandboxHandle, policy: NetworkPolicy) {
        if (policy.allow.length > 0) await super.doApplyNetworkPolicy(handle, policy);
      }
      protected override doPublicUrl(handle: SandboxHandle, port: number) {
        return super.doPublicUrl(handle, port + 1);
      }
      protected override async doTerminateSession() {}
    }
    const { fake, box } = await make(Wrong);
    expect(await fake.listAllNames()).toEqual([]);
    fake.failNext('get', new SandboxError('unavailable'));
    await expect(fake.get(box)).rejects.toMatchObject({ code: 'not_found' });
    expect(await fake.resume(fake.buildHandle('none'))).toEqual({ provider: 'fake', name: 'none' });
    await fake.applyNetworkPolicy(box, { allow: [] });
    expect(fake.policy('box')).toBeUndefined();
    expect(await fake.publicUrl(box, { port: 80 })).toBe('https://sandbox.test/box/81/');
    const { sessionId = '' } = await fake.spawn(box, 'stay', [], { detachable: true });
    await fake.terminateSession(box, sessionId, { mode: 'force' });
    expect(await fake.listSessions(box)).toHaveLength(1);
  });

  test('may mask a mode, and write a file by halves', async () => {
    class Halves extends FakeAdapter {
      protected override async doWriteFile(handle: SandboxHandle, request: WriteFileRequest) {
        const { content, mode } = request;
        const masked = { ...request, ...(mode !== undefined && { mode: mode & ~0o022 }) };
        if (content instanceof Uint8Array) return super.doWriteFile(handle, masked);
        const parts: Uint8Array[] = [];
        for await (const part of content) {
          parts.push(part);
          await super.doWriteFile(handle, { ...masked, content: Buffer.concat(parts) });
        }
      }
    }
    const { fake, box } = await make(Halves);
    await fake.writeFile(box, 'a', '', { mode: 0o777 });
    expect((await fake.statFile(box, 'a')).mode).toBe(0o755);
    async function* failing() {
      yield 'half';
      throw new Error('source');
    }
    await expect(fake.writeFile(box, 'b', failing())).rejects.toMatchObject({ code: 'provider' });
    expect(fake.file('box', 'b')?.toString()).toBe('half');
  });
});

describe('an incarnation', () => {
  test('may be mistaken for another', async () => {
    class Mistakes extends FakeAdapter {
      protected override sandbox({ provider, name }: SandboxHandle) {
        return super.sandbox({ provider, name });
      }
      protected override async doCreateNew(name: string) {
        await super.doCreate(name);
        return sandboxHandle(this.provider, name, 'i-0');
      }
    }
    const { fake } = await make(Mistakes);
    const adopted = await fake.createNew('box');
    expect(adopted.instanceId).toBe('i-0');
    await fake.destroy(fake.buildHandle('box'));
    expect(await fake.createNew('box')).toEqual(adopted);
    expect(await fake.get(adopted)).toMatchObject({ status: 'running' });
  });

  test('may be destroyed while its sessions run, and lend them to others', async () => {
    class Leaves extends FakeAdapter {
      readonly #destroyed = new Set<string>();
      protected override async doDestroy({ name }: SandboxHandle) {
        this.#destroyed.add(name);
      }
      protected override sandbox(handle: SandboxHandle) {
        if (this.#destroyed.has(handle.name)) throw new SandboxError('not_found');
        return super.sandbox(handle);
      }
      protected override async doAttach(_: SandboxHandle, request: AttachRequest) {
        return super.doAttach(this.buildHandle('box'), request);
      }
    }
    const { fake, box } = await make(Leaves);
    const command = await fake.spawn(box, 'stay', [], { detachable: true });
    await turns();
    const other = await fake.create('other');
    const joined = await fake.attach(other, command.sessionId ?? '');
    await fake.destroy(box);
    await expect(fake.get(box)).rejects.toMatchObject({ code: 'not_found' });
    expect(await Promise.race([joined.exit, turns(5).then(() => seen)])).toEqual([]);
  });
});
