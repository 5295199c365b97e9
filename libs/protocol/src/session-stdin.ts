import { SandboxError, type CallOptions } from '#libs/contract/core';
import { onAbort } from './abort-listeners.js';
import type { Lane, Turn } from './lanes.js';
import { aborted, commandExited, detached, stdinTaken } from './link-errors.js';
import type { Call, PendingRequests } from './pending-requests.js';
import type { Subscriber } from './subscriber.js';

interface Write {
  readonly op: 'stdin' | 'stdin_close';
  readonly owner: Subscriber;
  readonly turn: Turn<void>;
  /** Whether its outcome has come, and is about to reach the caller. */
  readonly settled: () => boolean;
  /** The effect when it ends here and now; what was not sent yet never will be. */
  readonly giveUp: () => 'none' | 'unknown';
}

/** What is written to a session's stdin, in the order of the calls. */
export class SessionStdin {
  private readonly writes = new Set<Write>();
  private over = false;
  private holder: Subscriber | undefined;

  constructor(
    private readonly sessionId: string,
    private readonly lane: Lane,
    private readonly requests: PendingRequests,
  ) {}

  /** From here on nobody else writes; what the one before has asked for already is still carried out. */
  own(owner: Subscriber): void {
    this.holder = owner;
  }

  async write(owner: Subscriber, name: string, data: Uint8Array, options: CallOptions = {}): Promise<void> {
    if (this.over) throw commandExited();
    this.checkHolder(owner);
    const body = { name, sessionId: this.sessionId, data };
    try {
      await this.enqueue(owner, 'stdin', () => this.requests.call('stdin', body, { accept: () => {} }), options.signal);
    } catch (error) {
      throw isNotFound(error) ? commandExited() : error;
    }
  }

  async close(owner: Subscriber, name: string, options: CallOptions = {}): Promise<void> {
    if (this.over) return;
    this.checkHolder(owner);
    const body = { name, sessionId: this.sessionId };
    const call = (): Call<void> => this.requests.call('stdin_close', body, { accept: () => {} });
    try {
      await this.enqueue(owner, 'stdin_close', call, options.signal);
    } catch (error) {
      if (!isNotFound(error) && !(error instanceof SandboxError && error.code === 'command_exited')) throw error;
    }
  }

  /** The session's exit was seen. */
  exited(): void {
    this.over = true;
    for (const { op, turn, settled, giveUp } of this.writes) {
      // Its reply may have come in the same turn: that is the outcome.
      if (settled()) continue;
      const effect = giveUp();
      if (op === 'stdin') turn.reject(commandExited(effect));
      else turn.resolve();
    }
  }

  /** `owner` has left. */
  leave(owner: Subscriber): void {
    for (const { owner: writer, turn, settled, giveUp } of this.writes) {
      if (writer === owner && !settled()) turn.reject(detached(giveUp()));
    }
  }

  /** Where nobody has asked for stdin, the daemon decides. */
  private checkHolder(owner: Subscriber): void {
    if (this.holder !== undefined && this.holder !== owner) throw stdinTaken();
  }

  private async enqueue(
    owner: Subscriber,
    op: Write['op'],
    send: () => Call<void>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    if (signal?.aborted) throw aborted(signal, 'none');
    let call: Call<void> | undefined;
    const turn = this.lane.add(() => {
      call = send();
      return call.result;
    });
    const giveUp = (): 'none' | 'unknown' => (call === undefined || call.withdraw() ? 'none' : 'unknown');
    const settled = (): boolean => call?.settled === true;
    const write = { op, owner, turn, giveUp, settled };
    // What was sent keeps its lane until it is answered: the next must not overtake it.
    const forgetSignal = onAbort(signal, () => {
      if (!settled()) turn.reject(aborted(signal, giveUp()));
    });
    this.writes.add(write);
    try {
      await turn.result;
    } finally {
      this.writes.delete(write);
      forgetSignal();
    }
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof SandboxError && error.code === 'not_found';
}
