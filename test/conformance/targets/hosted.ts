import { randomUUID } from 'node:crypto';
import { shellWords } from '#libs/conformance';
import type { SandboxAdapter } from '#libs/contract';
import type { Faults } from '#libs/emulators';
import type { TcpProxy } from '../../support/tcp-proxy.js';
import { hostedFaults, requestCounter, type HostedFaultOptions } from './hosted-faults.js';
import type { Target } from './target.js';

/** An adapter over the emulator of its service. */
export interface HostedOptions {
  readonly name: string;
  readonly emulator: { readonly faults: Faults; close(): Promise<void> };
  /** The way to the emulator. */
  readonly proxy: TcpProxy;
  /** Makes a client of the one account. */
  readonly client: () => SandboxAdapter;
  /** What a sandbox is let reach. `undefined`: all. */
  readonly egress: (name: string) => readonly string[] | undefined;
  /** What is left at the service, one line each. */
  readonly leftovers: () => readonly string[];
  readonly faults: Omit<HostedFaultOptions, 'proxy' | 'faults'>;
}

/** The target, which ends the emulator and the way to it. */
export function hostedTarget({ name, emulator, proxy, client, ...options }: HostedOptions): Target {
  return {
    subject: {
      name,
      adapter: client(),
      words: shellWords,
      newName: () => `box-${randomUUID().slice(0, 8)}`,
      tells: { signals: false, startErrors: true, stderrApart: true },
      insight: {
        anotherClient: () => Promise.resolve({ adapter: client(), close: () => Promise.resolve() }),
        requestCount: requestCounter(emulator.faults),
        egress: (handle) => Promise.resolve(options.egress(handle.name)),
        leftovers: () => Promise.resolve(options.leftovers()),
      },
      faults: hostedFaults({ ...options.faults, proxy, faults: emulator.faults }),
    },
    [Symbol.asyncDispose]: async () => {
      await proxy.close();
      await emulator.close();
    },
  };
}
