import { Tally } from './counters.js';
import type { Evidence } from './evidence.js';
import type { FaultLog } from './fault-log.js';
import { storyOf, type Story, type StorySource } from './story.js';

type Refused = Extract<Evidence, { type: 'refused' }>;
type Ended = Extract<Evidence, { type: 'ended' }>;
type Mark = Extract<Evidence, { type: 'mark' }>;

/** How long before a rejection its reason may lie: a silent link is noticed after its silence. */
const NOTICED_MS = 12_000;

const UNREACHABLE: ReadonlySet<string> = new Set([
  'runner_offline',
  'runner_disconnected',
  'runner_timeout',
  'draining',
]);
/** Refusals before anything is sent. */
const NOTHING_SENT: ReadonlySet<string> = new Set(['runner_offline', 'draining']);

/** Collects what callers saw, and judges it once everything is known that was done to them. */
export class Ledger {
  private readonly refusals: Refused[] = [];
  private readonly exits: Ended[] = [];
  private readonly marks: Mark[] = [];
  private readonly stoppedAt = new Map<number, number>();
  private readonly told = new Map<string, number>();
  private bytes = 0;

  constructor(
    private readonly source: StorySource,
    private readonly faults: FaultLog,
    readonly tally = new Tally(),
  ) {}

  /** Bytes that were compared with what was printed. */
  get bytesRead(): number {
    return this.bytes;
  }

  /** Exits that were seen. */
  get ended(): number {
    return this.exits.length;
  }

  /** How often callers were told what. */
  get refused(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.told].toSorted(([one], [other]) => (one < other ? -1 : 1)));
  }

  take(evidence: Evidence): void {
    if (evidence.type === 'bytes') this.takeBytes(evidence);
    else if (evidence.type === 'refused') this.takeRefusal(evidence);
    else if (evidence.type === 'ended') this.exits.push(evidence);
    else if (evidence.type === 'mark') this.marks.push(evidence);
    else if (evidence.type === 'stopping') this.stoppedAt.set(evidence.story, evidence.at);
    else if (evidence.type === 'lie')
      this.tally.add('inventedOutcomes', `${this.name(evidence.story)}: ${evidence.what}`);
    else if (evidence.type === 'hung') this.tally.add('hungPromises', `${this.name(evidence.story)}: ${evidence.what}`);
    else this.tally.add('failures', evidence.what);
  }

  /** To be called once, at the end. `runs` gives how often the command with that mark ran. */
  async judge(runs: (mark: string) => Promise<number>): Promise<void> {
    for (const refusal of this.refusals) {
      const fault = this.faultOf(refusal);
      const { story, operation, code, detail, effect } = refusal;
      if (fault) {
        this.tally.add(
          'inventedOutcomes',
          `${this.name(story)}: ${operation} was refused ${code}/${detail ?? '-'}/${effect}: ${fault}`,
        );
      }
    }
    for (const ended of this.exits) this.judgeExit(ended);
    for (const mark of this.marks) this.judgeMark(mark, await runs(mark.mark));
  }

  private takeBytes({ story, read, faults }: Extract<Evidence, { type: 'bytes' }>): void {
    this.bytes += read;
    this.tally.add('bytesLost', this.name(story), faults.lost);
    this.tally.add('bytesTwice', this.name(story), faults.twice);
    this.tally.add('bytesWrong', this.name(story), faults.wrong);
  }

  private takeRefusal(refusal: Refused): void {
    this.refusals.push(refusal);
    const { operation, code, detail, effect } = refusal;
    const words = `${operation}: ${code}${detail === undefined ? '' : `/${detail}`}, ${effect}`;
    this.told.set(words, (this.told.get(words) ?? 0) + 1);
  }

  /** Why it cannot be true; undefined when it can. */
  private faultOf({ story: index, operation, from, to, openedAt, code, detail, effect }: Refused): string | undefined {
    const story = this.story(index);
    if (code === 'unavailable' && detail !== undefined && UNREACHABLE.has(detail)) {
      // A command's output has the effect of the command.
      const isCall = operation !== 'read';
      if (isCall && NOTHING_SENT.has(detail) && effect !== 'none') return 'nothing was sent, so nothing happened';
      const since = Math.max(from, to - NOTICED_MS);
      return story && this.faults.covers(story.daemon, since, to) ? undefined : 'nothing was done to the link';
    }
    if (detail === 'timeout' || detail === 'output_limit' || code === 'aborted') {
      return story?.kind === 'limit' ? undefined : 'the call had no such limit';
    }
    const lost = detail === 'session_lost';
    if (!lost && code !== 'not_found' && code !== 'command_exited') return 'nothing that was done leads to it';
    if (!story) return 'nothing was done there';
    if (this.wasStopped(story, openedAt, to)) return undefined;
    const { killed } = this.endsOf(story, openedAt, to);
    // A daemon remembers what the one before it lost, and no more than that.
    if (lost ? killed > 0 : code === 'not_found' && killed > 1) return undefined;
    return 'nothing was done to what is said to be gone';
  }

  private judgeExit({ story: index, at, openedAt, exit }: Ended): void {
    const story = this.story(index);
    const truth = story?.printing.exitCode;
    const { exitCode, signal, startError } = exit;
    if (exitCode === truth && signal === undefined && startError === undefined) return;
    // What ends commands here does so with TERM, and KILL where that takes too long.
    const bySignal = (signal === 'SIGTERM' && exitCode === 143) || (signal === 'SIGKILL' && exitCode === 137);
    if (story && bySignal && this.wasStopped(story, openedAt, at)) return;
    const words = signal ?? startError ?? exitCode;
    this.tally.add('inventedOutcomes', `${this.name(index)}: ended with ${words}, where the command exits ${truth}`);
  }

  private judgeMark({ story: index, at, mark, ran }: Mark, times: number): void {
    const most = ran === 'no' ? 0 : 1;
    if (times > most) {
      this.tally.add('falseEffects', `${this.name(index)}: a command ran ${times} times that should ${ran} (${mark})`);
    }
    if (ran !== 'once' || times > 0) return;
    const story = this.story(index);
    // Whoever is killed as soon as it is started leaves nothing.
    if (story && (story.kind === 'limit' || this.wasStopped(story, at, Infinity))) return;
    if (story && this.endsOf(story, at, Infinity).killed > 0) return;
    this.tally.add('falseEffects', `${this.name(index)}: a command did not run that should ${ran} (${mark})`);
  }

  /** Whether the story's commands were stopped between those moments: with their sandbox, or with their daemon. */
  private wasStopped(story: Story, openedAt: number | undefined, to: number): boolean {
    const stoppedAt = this.stoppedAt.get(story.index);
    return (stoppedAt !== undefined && stoppedAt <= to) || this.endsOf(story, openedAt, to).stopped > 0;
  }

  private endsOf({ daemon }: Story, openedAt: number | undefined, to: number): ReturnType<FaultLog['endsBetween']> {
    return openedAt === undefined ? { killed: 0, stopped: 0 } : this.faults.endsBetween(daemon, openedAt, to);
  }

  private story(index: number): Story | undefined {
    return index < 0 ? undefined : storyOf(this.source, index);
  }

  private name(index: number): string {
    const story = this.story(index);
    return story ? `story ${index} (${story.kind} on daemon ${story.daemon})` : 'the end of the run';
  }
}
