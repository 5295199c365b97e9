import type { ExecRequest } from '#libs/contract';
import type { FakeKind } from '../targets/fake.js';
import { fake, withExecRequests } from './making.js';
import type { Mutant } from './mutant.js';

const MiB = 1024 * 1024;

export const fedExecMutants: readonly Mutant[] = [
  {
    name: 'stdin up to 1 MiB',
    defect: 'Of the stdin of an exec the first MiB is written.',
    caughtBy: ['PRO-023'],
    make: () =>
      fake(whereFed(({ stdin }) => ({ stdin: stdin instanceof Uint8Array ? stdin.subarray(0, MiB) : stdin }))),
  },
  {
    name: 'no limit with stdin',
    defect: 'An exec that is given stdin may write as much as it likes.',
    caughtBy: ['LIM-026'],
    make: () => fake(whereFed(() => ({ maxOutputBytes: Infinity }))),
  },
  {
    name: 'no signal with stdin',
    defect: 'An exec that is given stdin does not hear its signal.',
    caughtBy: ['LIM-027'],
    make: () => fake(whereFed(() => ({ signal: undefined }))),
  },
];

function whereFed(change: (request: ExecRequest) => Partial<ExecRequest>): FakeKind {
  return withExecRequests((request) => (request.stdin === undefined ? {} : change(request)));
}
