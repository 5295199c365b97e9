import { RECONNECT_LIMITS, Reconnect, type ReconnectLimits } from '../../apps/runner/src/reconnect.js';
import { scaled, type Benchmark } from './benchmark.js';
import { extremes } from './statistics.js';

const DAEMONS = 2_000;
const RESTARTS = 50;
/** How long the platform is away. */
const OUTAGES_MS = [0, 1_000, 5_000, 10_000, 20_000, 60_000];
const WITHIN_S = 60;
const MAX_SHARE_PERCENT = 10;
/** What the daemon's window is compared with. */
const NARROW: ReconnectLimits = { ...RECONNECT_LIMITS, baseMs: 5_000 };

interface Return {
  /** Seconds from the platform's return to that of the last daemon. */
  readonly lastS: number;
  /** The greatest part of the fleet that dialled within one second, wherever that second begins. */
  readonly peakPercent: number;
}

export const restartHerd: Benchmark = {
  name: 'restart-herd',
  what: `${DAEMONS} daemons after a restart of the platform, by their reconnect policy, in virtual time`,
  target: `all back within ${WITHIN_S} s; no second with more than ${MAX_SHARE_PERCENT} % of them`,
  async run(context) {
    const restarts = (limits: ReconnectLimits): Return[] =>
      OUTAGES_MS.flatMap((outageMs) =>
        Array.from({ length: scaled(context, RESTARTS) }, () => restart(DAEMONS, outageMs, limits)),
      );
    const ours = restarts(RECONNECT_LIMITS);
    const narrow = restarts(NARROW);
    const last = extremes(ours.map(({ lastS }) => lastS));
    const peak = extremes(ours.map(({ peakPercent }) => peakPercent));
    const [worstLast, worstPeak] = [last[1], peak[1]];
    const narrowPeak = Math.max(...narrow.map(({ peakPercent }) => peakPercent));
    return [
      {
        what: 'last daemon back, worst restart',
        unit: 's',
        ours: worstLast,
        spread: last,
        target: `≤ ${WITHIN_S} s`,
        holds: worstLast <= WITHIN_S,
      },
      {
        what: 'busiest second, worst restart',
        unit: '% of the fleet',
        ours: worstPeak,
        comparator: { what: 'a window of 5 s', value: narrowPeak },
        ratio: worstPeak / narrowPeak,
        spread: peak,
        target: `≤ ${MAX_SHARE_PERCENT} %`,
        holds: worstPeak <= MAX_SHARE_PERCENT,
      },
    ];
  },
};

/** Every daemon loses its link at 0 and dials by its policy; dials before `outageMs` are refused at once. */
function restart(daemons: number, outageMs: number, limits: ReconnectLimits): Return {
  const back: number[] = [];
  const dials: number[] = [];
  for (let daemon = 0; daemon < daemons; daemon++) {
    let nowMs = 0;
    const policy = new Reconnect({ now: () => nowMs, after: () => () => {} }, Math.random, limits);
    do {
      nowMs += policy.nextDelayMs();
      dials.push(nowMs);
    } while (nowMs < outageMs);
    back.push(nowMs);
  }
  return { lastS: (Math.max(...back) - outageMs) / 1e3, peakPercent: (busiestSecond(dials) / daemons) * 100 };
}

function busiestSecond(timesMs: readonly number[]): number {
  const sorted = timesMs.toSorted((a, b) => a - b);
  let first = 0;
  let most = 0;
  for (const [last, time] of sorted.entries()) {
    while (time - (sorted[first] as number) >= 1_000) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
