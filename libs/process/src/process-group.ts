import { errnoOf } from './errors.js';

/**
 * The process group that a session's leader founded. Its number is a recycled pid once the group is empty, so it is
 * never signalled after it was seen empty.
 */
export class ProcessGroup {
  #leaderRunning = true;
  #empty = false;
  #exited: () => void = () => {};
  /** Resolves when the leader was reaped. */
  readonly leaderExit = new Promise<void>((resolve) => (this.#exited = resolve));

  constructor(
    /** The pid of its leader. */
    readonly id: number,
    /** The session it belongs to, as its processes carry it in their environment. */
    readonly sessionId: string,
  ) {}

  get leaderRunning(): boolean {
    return this.#leaderRunning;
  }

  /** To be called in the turn in which the leader was reaped, before its pid can be another's. */
  leaderExited(): void {
    this.#leaderRunning = false;
    this.#exited();
    this.look();
  }

  /** Whether the group is known to have no process that runs. */
  get empty(): boolean {
    return this.#empty;
  }

  /** Its leader was reaped and nothing but zombies is left: nothing can be done to them, and nothing comes of them. */
  onlyZombies(): void {
    if (!this.#leaderRunning) this.#empty = true;
  }

  /** Asks the kernel whether the group still has a process, zombies included, unless it is known to be empty. */
  look(): boolean {
    this.signal(0);
    return !this.#empty;
  }

  signal(signal: NodeJS.Signals | 0): void {
    if (this.#empty) return;
    try {
      process.kill(-this.id, signal);
    } catch (error) {
      // EPERM: there is a process, though not ours to signal (or on macOS only zombies are left).
      if (errnoOf(error) === 'ESRCH' && !this.#leaderRunning) this.#empty = true;
    }
  }
}

/** Signals one process, if it still exists and may be signalled. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // What is left of it is seen in the process table.
  }
}
