import type { SandboxHandle } from 'nestjs-sandbox';
import type { BenchmarkContext } from '../benchmark.js';
import { Program } from '../program.js';
import type { CallShape, EmulatorCalls, EmulatorQuestion } from './emulator-process.js';
import type { Access, HostedProvider } from './provider.js';

/** This end of the process that an emulator runs in. */
export class Emulator {
  private constructor(
    private readonly program: Program,
    readonly access: Access,
  ) {}

  static async start(context: BenchmarkContext, { name }: HostedProvider): Promise<Emulator> {
    const program = Program.start(context, './hosted/emulator-process.js');
    const access = await program.ask<Access>({ op: 'start', provider: name } satisfies EmulatorQuestion);
    return new Emulator(program, access);
  }

  /** What `work` gives, and the calls that it made. */
  async watch<T>(
    { name, instanceId }: SandboxHandle,
    work: () => Promise<T>,
  ): Promise<{ value: T; calls: readonly CallShape[] }> {
    const names = instanceId === undefined ? [name] : [instanceId, name];
    const ask = (): Promise<EmulatorCalls> => this.program.ask({ op: 'calls', names } satisfies EmulatorQuestion);
    await ask();
    const value = await work();
    const { calls } = await ask();
    return { value, calls };
  }
}
