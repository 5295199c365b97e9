import { Prng } from './prng.js';

/**
 * What is done to a link or to one of its ends:
 * - `cut`: both ends of the connection are reset, after some more bytes have passed
 * - `close`: both ends are closed in an orderly way
 * - `refuse`: reset, and new connections too for a while
 * - `stall_up`, `stall_down`, `stall`: bytes to the platform, to the daemon, or both ways stand still for a while
 * - `delay`: every piece comes later for a while
 * - `freeze`: the daemon is stopped with SIGSTOP, for a while
 * - `kill_daemon`, `stop_daemon`: SIGKILL or SIGTERM, then started again
 * - `kill_platform`, `stop_platform`: the same, and its callers with it
 */
export type FaultKind =
  | 'cut'
  | 'close'
  | 'refuse'
  | 'stall_up'
  | 'stall_down'
  | 'stall'
  | 'delay'
  | 'freeze'
  | 'kill_daemon'
  | 'stop_daemon'
  | 'kill_platform'
  | 'stop_platform';

export interface Fault {
  readonly kind: FaultKind;
  /** Of the time in which faults happen. */
  readonly at: number;
  /** Index; undefined for the platform. */
  readonly daemon?: number;
  /** How long, for what lasts. */
  readonly ms: number;
  /** Bytes that pass before a cut. */
  readonly afterBytes: number;
}

const LINK_FAULTS: Record<Exclude<FaultKind, 'kill_platform' | 'stop_platform'>, number> = {
  cut: 24,
  close: 8,
  refuse: 5,
  stall_up: 8,
  stall_down: 8,
  stall: 8,
  delay: 10,
  freeze: 8,
  kill_daemon: 8,
  stop_daemon: 4,
};

/** Seconds between two faults of one daemon, on average. */
const EVERY_SECONDS = 4;
/** Seconds between two faults of the platform, on average. */
const PLATFORM_EVERY_SECONDS = 12;

/** In their order of time; they follow from the seed alone. */
export function planFaults(seed: number, daemons: number, seconds: number): Fault[] {
  const random = new Prng(seed, 'faults');
  const faults: Fault[] = [];
  for (let daemon = 0; daemon < daemons; daemon++) {
    for (let left = Math.max(2, Math.round(seconds / EVERY_SECONDS)); left > 0; left--) {
      faults.push({ kind: random.pick(LINK_FAULTS), daemon, ...drawn(random) });
    }
  }
  for (let left = Math.max(1, Math.round(seconds / PLATFORM_EVERY_SECONDS)); left > 0; left--) {
    faults.push({ kind: random.pick({ kill_platform: 2, stop_platform: 1 }), ...drawn(random) });
  }
  return faults.toSorted((one, other) => one.at - other.at);
}

function drawn(random: Prng): Pick<Fault, 'at' | 'ms' | 'afterBytes'> {
  return {
    at: random.next(),
    // Short ones a link outlives; the longer ones end it by its silence.
    ms: random.chance(0.7) ? random.int(50, 1_500) : random.int(1_500, 7_000),
    afterBytes: random.chance(0.5) ? 0 : random.int(1, 200_000),
  };
}

export function faultText({ kind, at, daemon, ms, afterBytes }: Fault): string {
  const target = daemon === undefined ? 'platform' : `daemon ${daemon}`;
  return `${(at * 100).toFixed(1).padStart(5)} %  ${kind.padEnd(13)} ${target.padEnd(10)} ${ms} ms, ${afterBytes} bytes`;
}
