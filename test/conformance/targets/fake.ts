import type { ConformanceSubject } from '#libs/conformance';
import type { SessionSink } from '#libs/protocol';
import { FakeAdapter, type FakeAdapterOptions } from '#libs/testing';
import { eachByteOnce, fakeFaults, type FaultyFake, type OutputFault } from './fake-faults.js';
import { fakePrograms, fakeWords } from './fake-words.js';
import type { Target } from './target.js';

let names = 0;

/** The fake as the suite needs it: with programs for its words, and faults on the way of its output. */
export class TargetFake extends FakeAdapter implements FaultyFake {
  #spoil: OutputFault | undefined;

  constructor(options: Partial<FakeAdapterOptions> = {}) {
    super({ programs: fakePrograms, ...options });
  }

  spoilNext(fault: OutputFault): () => void {
    this.#spoil = fault;
    return () => {
      if (this.#spoil === fault) this.#spoil = undefined;
    };
  }

  protected override sink(sink: SessionSink): SessionSink {
    const spoil = this.#spoil;
    this.#spoil = undefined;
    const arriving = this.arriving(sink);
    return spoil === undefined ? arriving : spoil(arriving, () => this.disconnect());
  }

  /** What the adapter does about what the way there may do to its output. */
  protected arriving(sink: SessionSink): SessionSink {
    return eachByteOnce(sink);
  }
}

/** A kind of fake, perhaps one with a defect. */
export type FakeKind = new (options?: Partial<FakeAdapterOptions>) => TargetFake;

/** A subject over a fake, or over one with a defect. */
export function fakeSubject(adapter: TargetFake): ConformanceSubject {
  const Kind = adapter.constructor as FakeKind;
  return {
    name: 'fake',
    adapter,
    words: fakeWords,
    newName: () => `sandbox-${++names}`,
    faults: fakeFaults(adapter),
    insight: {
      anotherClient: async () => ({ adapter: new Kind({ account: adapter }), close: async () => {} }),
      requestCount: () => adapter.requests,
      egress: (handle) => Promise.resolve(adapter.policy(handle.name)?.allow),
    },
  };
}

/** The fake, with all that it can do. */
export function openFake(): Promise<Target> {
  return Promise.resolve({ subject: fakeSubject(new TargetFake()), [Symbol.asyncDispose]: () => Promise.resolve() });
}
