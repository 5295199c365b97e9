import type { RequestOp } from '#libs/protocol';
import { FakeDaemon } from '#libs/testing';
import { fakeDaemon, openFakeDaemon } from '../targets/fake-daemon.js';
import { fakePrograms } from '../targets/fake-words.js';
import { RunnerWire, type WireFault, type WireFrame } from '../targets/runner-wire.js';
import type { Target } from '../targets/target.js';
import { HASTE, text } from './making.js';
import type { Mutant } from './mutant.js';

// A daemon with a defect, as the platform sees it: what goes over the wire is changed.

export const wireMutants: readonly Mutant[] = [
  {
    name: 'a daemon without stderr',
    defect: 'Frames of stderr are not sent.',
    caughtBy: ['STR-004', 'STR-008', 'STR-019', 'ATT-002', 'ATT-020', 'SES-009'],
    make: () => wired({ arriving: (frame) => (frame.stream === 'stderr' ? [] : undefined) }),
  },
  {
    name: 'a daemon without exit codes',
    defect: 'Every exit is sent as code 0.',
    caughtBy: ['STR-001', 'STR-002', 'STR-010', 'STR-017', 'STR-019', 'STD-003', 'ATT-002', 'ATT-042', 'SES-008'],
    make: () =>
      wired({
        arriving: (frame) =>
          frame.stream === 'exit' ? [{ ...frame, code: 0, signal: undefined } as WireFrame] : undefined,
      }),
  },
  {
    name: 'a daemon that sends the exit first',
    defect: 'Output of a session is sent behind its exit.',
    caughtBy: ['STR-002', 'STR-004', 'STR-012', 'STR-019'],
    make: () => {
      const held: WireFrame[] = [];
      return wired({
        arriving(frame) {
          if (frame.stream === 'exit') return [frame, ...held.splice(0)];
          if (frame.stream !== undefined) held.push(frame);
          return frame.stream === undefined ? undefined : [];
        },
      });
    },
  },
  {
    name: 'a daemon that decodes',
    defect: 'The bytes of a frame become text and bytes again.',
    caughtBy: ['STR-004', 'STR-019', 'STD-004', 'ATT-002'],
    make: () =>
      wired({
        arriving: (frame) =>
          frame.data === undefined ? undefined : [{ ...frame, data: base64(text(Buffer.from(frame.data, 'base64'))) }],
      }),
  },
  {
    name: 'a daemon that replays nothing',
    defect: 'What a replay consists of is not sent.',
    caughtBy: ['ATT-002', 'ATT-009', 'SES-009'],
    make: () =>
      wired({
        arriving: (frame) => ('replay_for' in frame && frame.stream !== 'exit' ? [] : undefined),
      }),
  },
  {
    name: 'a daemon that cuts its results',
    defect: 'Of the output of an exec the first 100 bytes are sent.',
    caughtBy: ['EXE-001', 'EXE-004', 'EXE-012', 'LIM-008', 'PRO-001', 'PRO-003'],
    make: () =>
      wired({
        arriving(frame) {
          const output = frame.result?.['output'];
          if (typeof output !== 'string') return undefined;
          const cut = base64(Buffer.from(output, 'base64').subarray(0, 100));
          return [{ ...frame, result: { ...frame.result, output: cut } }];
        },
      }),
  },
  {
    name: 'a daemon that lists one less',
    defect: 'The first of its sandboxes is not listed.',
    caughtBy: ['LST-001', 'LST-002'],
    make: () => wired({ arriving: ofResult('names', (names) => names.slice(1)) }),
  },
  {
    name: 'a daemon that lists no sessions',
    defect: 'The list of sessions is empty.',
    caughtBy: ['SES-001', 'SES-003', 'SES-005', 'SES-008', 'SES-010'],
    make: () => wired({ arriving: ofResult('sessions', () => []) }),
  },
  {
    name: 'a daemon that destroys in words',
    defect: 'A destroy is answered, and not done.',
    caughtBy: ['LIF-006', 'LIF-008', 'LIF-009', 'LIF-011', 'LST-002', 'SES-012', 'SES-014', 'STD-016'],
    make: () => wired(answering('destroy')),
  },
  {
    name: 'a daemon that suspends in words',
    defect: 'A suspend is answered, and not done.',
    caughtBy: ['SUS-001', 'SUS-005'],
    make: () => wired(answering('suspend')),
  },
  {
    name: 'a daemon that writes no files',
    defect: 'A write of a file is answered, and not done.',
    caughtBy: ['FIL-001', 'FIL-002', 'FIL-003', 'FIL-006', 'SUS-002', 'LIF-002'],
    make: () => wired(answering('write_file')),
  },
  {
    name: 'a daemon that reads no stdin',
    defect: 'A write to stdin is answered, and not done.',
    caughtBy: ['STD-001', 'STD-004', 'STD-005', 'STD-006', 'STD-007', 'STD-013'],
    make: () => wired(answering('stdin')),
  },
  {
    name: 'a daemon that keeps stdin open',
    defect: 'A close of stdin is answered, and not done.',
    caughtBy: ['STD-002'],
    caughtByHanging: ['STD-001', 'STD-004', 'STD-007'],
    make: () => wired(answering('stdin_close')),
  },
  {
    name: 'a daemon without offsets',
    defect: 'Frames do not say where they belong, so that one which comes twice is taken twice.',
    caughtBy: ['FLT-013'],
    make: () => hasty(openFakeDaemon(new FakeDaemon({ programs: fakePrograms }))),
  },
];

/** A fake daemon behind a wire that does this to everything. */
function wired(fault: WireFault): Promise<Target> {
  const wire = new RunnerWire();
  wire.fault = fault;
  return hasty(openFakeDaemon(fakeDaemon(), wire));
}

async function hasty(opening: Promise<Target>): Promise<Target> {
  const target = await opening;
  return {
    subject: { ...target.subject, ...HASTE },
    [Symbol.asyncDispose]: () => target[Symbol.asyncDispose](),
  };
}

/** Requests of this kind are answered as done. */
function answering(op: RequestOp): WireFault {
  return { request: (frame) => (frame.op === op ? { id: frame.id, ok: true, result: {} } : undefined) };
}

/** Replies whose result has that list, changed. */
function ofResult(key: string, change: (list: unknown[]) => unknown[]): NonNullable<WireFault['arriving']> {
  return (frame) => {
    const list = frame.result?.[key];
    return Array.isArray(list) ? [{ ...frame, result: { ...frame.result, [key]: change(list) } }] : undefined;
  };
}

function base64(data: Uint8Array | string): string {
  return Buffer.from(data).toString('base64');
}
