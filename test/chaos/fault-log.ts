/** A fault from its beginning to where its cause was taken away. */
interface Window {
  readonly kind: string;
  /** Undefined: all of them. */
  readonly daemon: number | undefined;
  readonly from: number;
  to: number;
}

/** How a daemon was ended: by SIGKILL, or by SIGTERM, so that it stopped what ran. */
export type EndKind = 'killed' | 'stopped';

interface End {
  readonly daemon: number;
  readonly how: EndKind;
  readonly from: number;
  to: number;
}

/** After its cause has gone and the runner is back, what a fault did may still be noticed for so long. */
const SHADOW_MS = 3_000;
/** Clocks of processes are read at different moments. */
const SLACK_MS = 100;

/** What was done to whom and when, and when each daemon was online: what callers may have noticed. */
export class FaultLog {
  private readonly windows: Window[] = [];
  private readonly ends: End[] = [];
  private readonly presences: { readonly daemon: number | undefined; readonly at: number; readonly online: boolean }[] =
    [];

  constructor(private readonly now: () => number = Date.now) {}

  /** The returned function says that the cause is taken away. */
  begin(kind: string, daemon: number | undefined): () => void {
    const window: Window = { kind, daemon, from: this.now(), to: Infinity };
    this.windows.push(window);
    return () => void (window.to = this.now());
  }

  /** The daemon is about to be ended, and its sessions with it. The returned function says that it has ended. */
  ending(daemon: number, how: EndKind): () => void {
    const end: End = { daemon, how, from: this.now(), to: Infinity };
    this.ends.push(end);
    return () => void (end.to = this.now());
  }

  presence(daemon: number | undefined, online: boolean, at = this.now()): void {
    this.presences.push({ daemon, online, at });
  }

  isOnline(daemon: number): boolean {
    return this.onlineAt(daemon, Infinity);
  }

  /** Whether a fault can be the reason for what was noticed between two moments. */
  covers(daemon: number, from: number, to: number): boolean {
    return this.windows.some(
      (window) =>
        (window.daemon === undefined || window.daemon === daemon) &&
        window.from - SLACK_MS <= to &&
        this.overAt(window, daemon) >= from,
    );
  }

  /** How often the daemon was ended between two moments. */
  endsBetween(daemon: number, from: number, to: number): Readonly<Record<EndKind, number>> {
    const ends = this.ends.filter(
      (end) => end.daemon === daemon && end.to >= from - SLACK_MS && end.from <= to + SLACK_MS,
    );
    const killed = ends.filter(({ how }) => how === 'killed').length;
    return { killed, stopped: ends.length - killed };
  }

  /** When nothing can be noticed of it any more. */
  private overAt(window: Window, daemon: number): number {
    if (window.to === Infinity || this.onlineAt(daemon, window.to + SHADOW_MS)) return window.to + SHADOW_MS;
    const back = this.presences.find(
      ({ daemon: whose, online, at }) => whose === daemon && online && at > window.to + SHADOW_MS,
    );
    return back ? back.at + SHADOW_MS : Infinity;
  }

  private onlineAt(daemon: number, moment: number): boolean {
    const last = this.presences.findLast(
      ({ daemon: whose, at }) => (whose === undefined || whose === daemon) && at <= moment,
    );
    return last?.online ?? false;
  }
}
