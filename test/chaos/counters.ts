/** What a run counts. Each must be 0. */
export const COUNTERS = {
  bytesLost: 'bytes that were printed and not delivered',
  bytesTwice: 'bytes that were delivered again',
  bytesWrong: 'bytes other than those that were printed, or more',
  inventedOutcomes: 'results, exits and errors that are not what happened',
  falseEffects: 'commands that ran though the error said that nothing did, twice, or not at all',
  hungPromises: 'calls and readers without an outcome within their bound',
  leakedListeners: 'listeners of the one signal of all calls, and warnings of too many',
  leakedTimers: 'timers of the platform and of the daemons',
  leakedSockets: 'sockets and other handles of both, and connections that the operating system has',
  leakedProcesses: 'processes of sessions',
  leakedDirectories: 'directories and files in the roots and in the temporary directory',
  leakedSessions: 'sessions, requests and bytes in stats() of gateway and keeper',
  failures: 'errors that nobody caught, and processes that ended by themselves',
} as const;

export type Counter = keyof typeof COUNTERS;

export type Counts = Readonly<Record<Counter, number>>;

/** The counters of a run, with the first findings behind each in words. */
export class Tally {
  private readonly counts = Object.fromEntries(Object.keys(COUNTERS).map((name) => [name, 0])) as Record<
    Counter,
    number
  >;
  readonly findings: string[] = [];

  add(counter: Counter, finding: string, count = 1): void {
    if (count === 0) return;
    this.counts[counter] += count;
    this.findings.push(`${counter} + ${count}: ${finding}`);
  }

  get value(): Counts {
    return { ...this.counts };
  }
}
