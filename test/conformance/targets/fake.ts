import { FakeAdapter, type FakeAdapterOptions } from '#libs/testing';
import { fakeFaults } from './fake-faults.js';
import { fakePrograms, fakeWords } from './fake-words.js';
import type { ConformanceSubject } from '#libs/conformance';
import type { Target } from './target.js';

let names = 0;

/** A subject over a fake, or over one with a defect. */
export function fakeSubject(adapter: FakeAdapter): ConformanceSubject {
  return {
    name: 'fake',
    adapter,
    words: fakeWords,
    newName: () => `sandbox-${++names}`,
    faults: fakeFaults(adapter),
    insight: {
      egress: (handle) => Promise.resolve(adapter.policy(handle.name)?.allow),
    },
  };
}

/** The fake as the suite needs it. */
export function fakeAdapter(options: Partial<FakeAdapterOptions> = {}): FakeAdapter {
  return new FakeAdapter({ programs: fakePrograms, ...options });
}

/** The fake, with all that it can do. */
export function openFake(): Promise<Target> {
  return Promise.resolve({ subject: fakeSubject(fakeAdapter()), [Symbol.asyncDispose]: () => Promise.resolve() });
}
