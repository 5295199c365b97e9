import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shellWords, type ConformanceSubject, type Heal } from 'nestjs-sandbox/conformance';
import { LocalAdapter, LocalOptions } from './local.adapter.js';

/** A subject over a directory of its own, which `close` removes. */
export async function localSubject(): Promise<{
  subject: ConformanceSubject;
  options: LocalOptions;
  close: () => Promise<void>;
}> {
  const root = await mkdtemp(join(tmpdir(), 'local-adapter-'));
  const options = new LocalOptions({ root });
  let names = 0;
  // The disk goes away, and comes back.
  const unmount = async (): Promise<Heal> => {
    await rename(root, `${root}-away`);
    return () => rename(`${root}-away`, root);
  };
  const subject: ConformanceSubject = {
    name: 'local',
    adapter: new LocalAdapter(options),
    words: shellWords,
    newName: () => `box-${++names}`,
    faults: { failBefore: unmount, failPage: unmount },
    insight: {
      anotherClient: async () => ({ adapter: new LocalAdapter(options), close: async () => {} }),
      leftovers: () => readdir(root),
    },
  };
  return { subject, options, close: () => rm(root, { recursive: true, force: true }) };
}
