import {
  SANDBOX_OPERATIONS,
  type AttachRequest,
  type CommandChannel,
  type ExecRequest,
  type ExecResult,
  type SandboxCommand,
  type SandboxHandle,
  type SpawnRequest,
} from '#libs/contract';
import type { ConformanceSubject } from '#libs/conformance';
import type { SessionSink } from '#libs/protocol';
import type { FakeAdapterOptions } from '#libs/testing';
import { TargetFake, fakeSubject, type FakeKind } from '../targets/fake.js';

/** A mutant that makes a case wait must not make everybody wait for long. */
export const HASTE = { slowness: 0.1, volume: 0.01 } as const;

/** What arrives of a command: a frame of output, or the exit. */
export type Item = Parameters<SessionSink['frame']>[0];

/** A subject over a fake of that kind. */
export function fake(Kind: FakeKind, options: Partial<FakeAdapterOptions> = {}): ConformanceSubject {
  return { ...fakeSubject(new Kind(options)), ...HASTE };
}

/** Output that goes through `change` on its way to the reader. */
export function withFrames(change: (item: Item, pass: (item: Item) => void) => void): FakeKind {
  return withSink((sink) => ({
    frame: (item) => change(item, (one) => sink.frame(one)),
    error: (error) => sink.error(error),
  }));
}

/** As `withFrames`, with a state for each command, and the error as well. */
export function withSink(spoil: (sink: SessionSink) => SessionSink): FakeKind {
  return class extends TargetFake {
    protected override sink(sink: SessionSink): SessionSink {
      return super.sink(spoil(sink));
    }
  };
}

/** Bytes that go through `change` on their way to the reader; the offsets stay. */
export function withBytes(change: (data: Uint8Array) => Uint8Array): FakeKind {
  return withFrames((item, pass) => pass(item.type === 'exit' ? item : { ...item, data: change(item.data) }));
}

/** stdin with another way to the command in the place of what `change` gives. */
export function withChannel(change: (channel: CommandChannel) => Partial<CommandChannel>): FakeKind {
  return class extends TargetFake {
    protected override channel(channel: CommandChannel): CommandChannel {
      const whole: CommandChannel = {
        taken: (bytes) => channel.taken(bytes),
        write: (data) => channel.write(data),
        closeStdin: () => channel.closeStdin(),
        resize: async (size) => await channel.resize?.(size),
        stop: () => channel.stop(),
      };
      return { ...whole, ...change(channel) };
    }
  };
}

/** Commands with members of their own in the place of the true ones, which `change` is given. */
export function withCommands(change: (command: SandboxCommand) => object): FakeKind {
  return class extends TargetFake {
    protected override async doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
      return altered(await super.doSpawn(handle, request), change);
    }

    protected override async doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
      return altered(await super.doAttach(handle, request), change);
    }
  };
}

/** `command`, some of whose members are those that `change` gives; `change` sees the true ones all the time. */
export function altered(command: SandboxCommand, change: (command: SandboxCommand) => object): SandboxCommand {
  const prototype = Object.getPrototypeOf(command) as object;
  const untouched = new Proxy(command, {
    get(target, key) {
      const value: unknown = Reflect.get(key in prototype ? prototype : target, key, target);
      return typeof value === 'function' ? (...args: unknown[]) => Reflect.apply(value, target, args) : value;
    },
  });
  return Object.defineProperties(command, Object.getOwnPropertyDescriptors(change(untouched)));
}

/** An exec that asks for something else than it was asked for. */
export function withExecRequests(change: (request: ExecRequest) => object): FakeKind {
  return class extends TargetFake {
    protected override doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
      return super.doExec(handle, { ...request, ...change(request) });
    }
  };
}

/** An exec that gives another result. */
export function withExecResults(change: (result: ExecResult, request: ExecRequest) => ExecResult): FakeKind {
  return class extends TargetFake {
    protected override async doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
      return change(await super.doExec(handle, request), request);
    }
  };
}

/** Exec and spawn that run something else than they were told to. */
export function withProcesses(change: (request: ExecRequest | SpawnRequest) => object): FakeKind {
  return class extends TargetFake {
    protected override doExec(handle: SandboxHandle, request: ExecRequest): Promise<ExecResult> {
      return super.doExec(handle, { ...request, ...change(request) });
    }

    protected override doSpawn(handle: SandboxHandle, request: SpawnRequest): Promise<SandboxCommand> {
      return super.doSpawn(handle, { ...request, ...change(request) });
    }
  };
}

/** An attach that asks for something else than it was asked for. */
export function withAttach(change: (request: AttachRequest) => AttachRequest): FakeKind {
  return class extends TargetFake {
    protected override doAttach(handle: SandboxHandle, request: AttachRequest): Promise<SandboxCommand> {
      return super.doAttach(handle, change(request));
    }
  };
}

/** One call of an adapter, seen from outside. */
export interface Call {
  readonly operation: string;
  readonly args: unknown[];
  readonly adapter: TargetFake;
  /** Makes it, with other arguments if they are given. */
  readonly run: (args?: unknown[]) => Promise<unknown>;
}

/** An adapter all of whose calls go through `around`, before anything is checked. */
export function withCalls(around: (call: Call) => unknown): FakeKind {
  return class extends TargetFake {
    constructor(options: Partial<FakeAdapterOptions> = {}) {
      super(options);
      const calls = Object.keys(SANDBOX_OPERATIONS).map((operation) => {
        const method = Reflect.get(this, operation, this) as (...args: unknown[]) => Promise<unknown>;
        const run = (args: unknown[]): Promise<unknown> => Reflect.apply(method, this, args);
        const spoiled = (...args: unknown[]): unknown =>
          around({ operation, args, adapter: this, run: (others = args) => run(others) });
        return [operation, spoiled];
      });
      Object.assign(this, Object.fromEntries(calls));
    }
  };
}

export function text(data: Uint8Array): string {
  return Buffer.from(data).toString();
}

/** Never. */
export function never<T>(): Promise<T> {
  return new Promise(() => {});
}
