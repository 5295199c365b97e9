/** A fault from its beginning to where its cause was taken away. */
interface Window {
  readonly kind: string;
  /** Undefined: all of them. */
  readonly daemon: number | undefined;
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
  private readonly kills: { readonly daemon: number; readonly at: number }[] = [];
  private readonly presences: { readonly daemon: number | undefined; readonly at: number; readonly online: boolean }[] =
    [];

  constructor(private readonly now: () => number = Date.now) {}

  /** The returned function says that the cause is taken away. */
  begin(kind: string, daemon: number | undefined): () => void {
    const window: Window = { kind, daemon, from: this.now(), to: Infinity };
    this.windows.push(window);
    return () => void (window.to = this.now());
  }

  /** The daemon was ended, and its sessions with it. */
  killed(daemon: number): void {
    this.kills.push({ daemon, at: this.now() });
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

  /** Whether the daemon was ended after that moment, up to another one. */
  killedBetween(daemon: number, from: number, to: number): boolean {
    return this.kills.some((kill) => kill.daemon === daemon && kill.at >= from - SLACK_MS && kill.at <= to + SLACK_MS);
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
