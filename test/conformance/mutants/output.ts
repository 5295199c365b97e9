import type { CommandChannel } from '#libs/contract';
import type { SessionSink } from '#libs/protocol';
import { TargetFake } from '../targets/fake.js';
import { fake, withFrames, withSink, type Item } from './making.js';
import type { Mutant } from './mutant.js';

export const outputMutants: readonly Mutant[] = [
  {
    name: 'the last piece lost',
    defect: 'The last piece of an output does not come, and its exit does.',
    caughtBy: ['STR-002', 'STR-004', 'STR-019', 'EXE-001', 'EXE-002', 'ATT-002'],
    make: () =>
      fake(
        withSink((sink) => {
          let last: Item | undefined;
          return {
            frame(item) {
              if (item.type === 'exit') return sink.frame(item);
              if (last) sink.frame(last);
              last = item;
            },
            error: (error) => sink.error(error),
          };
        }),
      ),
  },
  {
    name: 'the exit first',
    defect: 'The exit comes as soon as it is known, and the output behind it.',
    caughtBy: ['STR-002', 'STR-004', 'STR-019', 'EXE-001'],
    make: () =>
      fake(
        withSink((sink) => {
          const late: Item[] = [];
          return {
            frame(item) {
              if (item.type === 'exit') for (const one of [item, ...late]) sink.frame(one);
              else late.push(item);
            },
            error: (error) => sink.error(error),
          };
        }),
      ),
  },
  {
    name: 'kept to the end',
    defect: 'Output is delivered when the command has ended.',
    caughtBy: [],
    caughtByHanging: ['STR-001', 'STR-003', 'STR-011', 'STD-003', 'ATT-001', 'TTY-001', 'TTY-002'],
    make: () =>
      fake(
        withSink((sink) => {
          const kept: Item[] = [];
          return {
            frame(item) {
              kept.push(item);
              if (item.type === 'exit') for (const one of kept) sink.frame(one);
            },
            error: (error) => sink.error(error),
          };
        }),
      ),
  },
  {
    name: 'offsets from 1',
    defect: 'The first byte of a stream is told as its byte 1.',
    caughtBy: ['STR-001', 'STR-002', 'STR-011', 'ATT-001'],
    make: () =>
      fake(withFrames((item, pass) => pass(item.type === 'exit' ? item : { ...item, offset: item.offset + 1 }))),
  },
  {
    name: 'one byte lost',
    defect: 'The last byte of the second frame of an output is lost, and what follows closes up.',
    caughtBy: ['STR-005', 'STR-006', 'STR-007', 'STR-008', 'STD-001', 'STD-006', 'ATT-009', 'ATT-040', 'LIM-011'],
    make: () => fake(withSink(losing((_, n) => n === 2))),
  },
  {
    name: 'line feeds put in',
    defect: 'A line that is longer than 64 KiB is broken.',
    caughtBy: ['STR-006'],
    make: () =>
      fake(
        withFrames((item, pass) => {
          if (item.type === 'exit' || item.data.byteLength < 65_536 || item.data.includes(10)) return pass(item);
          return pass({ ...item, data: Buffer.concat([item.data.subarray(1), Buffer.from('\n')]) });
        }),
      ),
  },
  {
    name: 'tiny writes cut',
    defect: 'Of many tiny writes every 300th loses its last byte.',
    caughtBy: ['STR-007'],
    make: () => fake(withSink(losing((item, n) => item.type !== 'exit' && item.data.byteLength < 8 && n % 300 === 0))),
  },
  {
    name: 'streams mixed up',
    defect: 'Every other piece of stderr is told as stdout.',
    caughtBy: ['STR-008'],
    make: () =>
      fake(
        withSink((sink) => {
          let count = 0;
          return {
            frame(item) {
              const isMixedUp = item.type === 'stderr' && ++count % 2 === 0;
              sink.frame(isMixedUp ? { ...item, type: 'stdout' } : item);
            },
            error: (error) => sink.error(error),
          };
        }),
      ),
  },
  {
    name: 'every end is a success',
    defect: 'An output that ends without an exit is one that ended with 0.',
    caughtBy: ['FLT-001', 'FLT-002', 'FLT-003', 'FLT-004', 'FLT-005', 'FLT-009', 'FLT-011', 'FLT-012'],
    make: () =>
      fake(
        withSink((sink) => ({
          frame: (item) => sink.frame(item),
          error: () => sink.frame({ type: 'exit', exitCode: 0 }),
        })),
      ),
  },
  {
    name: 'silence is an end',
    defect: 'An output of which nothing comes for a while is over.',
    caughtBy: ['FLT-054'],
    make: () =>
      fake(
        withSink((sink) => {
          let timer: NodeJS.Timeout | undefined;
          const end = (): void => sink.frame({ type: 'exit', exitCode: 0 });
          return {
            frame(item) {
              clearTimeout(timer);
              timer = setTimeout(end, 10).unref();
              sink.frame(item);
            },
            error: (error) => sink.error(error),
          };
        }),
      ),
  },
  {
    name: 'takes all that comes',
    defect: 'A frame that comes twice is delivered twice.',
    caughtBy: ['FLT-013'],
    make: () =>
      fake(
        class extends TargetFake {
          protected override arriving(sink: SessionSink): SessionSink {
            return sink;
          }
        },
      ),
  },
  {
    name: 'the last exit counts',
    defect: 'An exit is told a turn later, and what comes meanwhile before it; of several exits the last.',
    caughtBy: ['FLT-014', 'FLT-015'],
    make: () =>
      fake(
        withSink((sink) => {
          let exit: Item | undefined;
          return {
            frame(item) {
              if (item.type !== 'exit') return sink.frame(item);
              if (exit === undefined) setImmediate(() => sink.frame(exit as Item));
              exit = item;
            },
            error: (error) => sink.error(error),
          };
        }),
      ),
  },
  {
    name: 'one window for all',
    defect: 'A reader that takes nothing holds back every other command.',
    caughtBy: ['ATT-008'],
    caughtByHanging: ['STR-015'],
    make: () => fake(OneWindow),
  },
  {
    name: 'codes of a signed byte',
    defect: 'An exit code above 127 is told as a negative one.',
    caughtBy: ['STR-030', 'EXE-006'],
    make: () =>
      fake(
        withFrames((item, pass) => {
          const isAbove = item.type === 'exit' && item.signal === undefined && item.exitCode > 127;
          pass(isAbove ? { ...item, exitCode: item.exitCode - 256 } : item);
        }),
      ),
  },
  {
    name: 'outputs swapped',
    defect: 'Of two commands that are started in one turn each gets the output of the other.',
    caughtBy: ['STR-031', 'EXE-014'],
    make: () => fake(Swapping),
  },
  {
    name: 'stderr without a limit',
    defect: 'What comes on stderr counts as taken when it comes.',
    caughtBy: ['STR-032'],
    make: () => fake(StderrTaken),
  },
];

/** Cuts the last byte off the frames of which `isCut` says so, by their number, and has the offsets close up. */
function losing(isCut: (item: Item, n: number) => boolean): (sink: SessionSink) => SessionSink {
  return (sink) => {
    const lost = { stdout: 0, stderr: 0 };
    let count = 0;
    return {
      frame(item) {
        if (item.type === 'exit') return sink.frame(item);
        const { type, offset, data } = item;
        const cut = isCut(item, ++count) ? 1 : 0;
        sink.frame({ type, offset: offset - lost[type], data: data.subarray(0, data.byteLength - cut) });
        lost[type] += cut;
      },
      error: (error) => sink.error(error),
    };
  };
}

/** Gives the outputs of two commands that are started in one turn to each other. */
class Swapping extends TargetFake {
  #waiting: { to: SessionSink } | undefined;

  protected override sink(sink: SessionSink): SessionSink {
    const way = { to: super.sink(sink) };
    const other = this.#waiting;
    if (other !== undefined) [way.to, other.to] = [other.to, way.to];
    this.#waiting = other === undefined ? way : undefined;
    setImmediate(() => {
      if (this.#waiting === way) this.#waiting = undefined;
    });
    return { frame: (item) => way.to.frame(item), error: (error) => way.to.error(error) };
  }
}

/** Takes stderr at once, in the place of its reader. */
class StderrTaken extends TargetFake {
  #taken: { bytes?: (bytes: number) => void } = {};

  protected override sink(sink: SessionSink): SessionSink {
    const taken: { bytes?: (bytes: number) => void } = {};
    this.#taken = taken;
    return super.sink({
      frame(item) {
        sink.frame(item);
        if (item.type === 'stderr') taken.bytes?.(item.data.byteLength);
      },
      error: (error) => sink.error(error),
    });
  }

  /** The way back of the command whose output was the last to get its way here. */
  protected override channel(channel: CommandChannel): CommandChannel {
    this.#taken.bytes = channel.taken.bind(channel);
    return super.channel(channel);
  }
}

/** Delivers to one reader at a time: to the next when all that was delivered has been taken. */
class OneWindow extends TargetFake {
  #untaken = 0;
  #owner: SessionSink | undefined;
  #waiting: (() => void)[] = [];

  protected override sink(sink: SessionSink): SessionSink {
    const deliver = (item: Item): void => {
      if (item.type === 'exit') return sink.frame(item);
      if (this.#owner !== undefined && this.#owner !== sink) return void this.#waiting.push(() => deliver(item));
      this.#owner = sink;
      this.#untaken += item.data.byteLength;
      sink.frame(item);
    };
    return super.sink({ frame: deliver, error: (error) => sink.error(error) });
  }

  protected override channel(channel: CommandChannel): CommandChannel {
    const taken = channel.taken.bind(channel);
    return Object.assign(channel, {
      taken: (bytes: number): void => {
        taken(bytes);
        this.#untaken -= bytes;
        if (this.#untaken > 0) return;
        this.#owner = undefined;
        for (const deliver of this.#waiting.splice(0)) deliver();
      },
    });
  }
}
