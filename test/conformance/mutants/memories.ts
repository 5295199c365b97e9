import type { CallOptions, SandboxHandle } from '#libs/contract';
import { TargetFake } from '../targets/fake.js';
import { fake, withCalls } from './making.js';
import type { Mutant } from './mutant.js';

export const memoryMutants: readonly Mutant[] = [
  {
    name: 'what get said is remembered',
    defect: 'get answers what it answered before, until this client itself acts on the sandbox.',
    caughtBy: ['HAN-012'],
    make: () => fake(remembering('get')),
  },
  {
    name: 'the names are remembered',
    defect: 'A listing of names is remembered until this client itself acts.',
    caughtBy: ['HAN-012'],
    make: () => fake(remembering('listAllNames')),
  },
  {
    name: 'the sessions are remembered',
    defect: 'A listing of sessions is remembered until this client itself acts.',
    caughtBy: ['SES-015'],
    make: () => fake(remembering('listSessions')),
  },
  {
    name: 'what was read is remembered',
    defect: 'A file is read again only when this client has written to its path.',
    caughtBy: ['RDF-009'],
    make: () =>
      fake(
        class extends TargetFake {
          readonly #read = new Map<string, Uint8Array>();
          protected override doWriteFile(
            ...[handle, request]: Parameters<TargetFake['doWriteFile']>
          ): ReturnType<TargetFake['doWriteFile']> {
            this.#read.delete(`${handle.name}/${request.path}`);
            return super.doWriteFile(handle, request);
          }
          protected override async doReadFile(
            handle: SandboxHandle,
            path: string,
            options: CallOptions,
          ): Promise<Uint8Array> {
            const key = `${handle.name}/${path}`;
            const known = this.#read.get(key);
            if (known !== undefined) return Uint8Array.from(known);
            const content = await super.doReadFile(handle, path, options);
            this.#read.set(key, Uint8Array.from(content));
            return content;
          }
        },
      ),
  },
];

const READING: ReadonlySet<string> = new Set([
  'get',
  'listAllNames',
  'listSessions',
  'readFile',
  'listFiles',
  'attach',
]);

/** A client that remembers the answers of `operation` until it makes a call that acts. */
function remembering(operation: string): ReturnType<typeof withCalls> {
  const answers = new WeakMap<TargetFake, Map<string, unknown>>();
  return withCalls(async (call) => {
    const { adapter, args } = call;
    const known = answers.get(adapter) ?? new Map<string, unknown>();
    answers.set(adapter, known);
    if (!READING.has(call.operation)) known.clear();
    if (call.operation !== operation) return call.run();
    const key = JSON.stringify(args[0]) ?? 'all';
    if (!known.has(key)) known.set(key, await call.run());
    return known.get(key);
  });
}
