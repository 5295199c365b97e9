import { setTimeout as sleep } from 'node:timers/promises';
import type { Daemon } from './daemon.js';
import type { FaultLog } from './fault-log.js';
import type { Direction } from './fault-proxy.js';
import type { Fault } from './faults.js';
import type { Platform } from './platform.js';

/** Does the planned faults at their times, and takes each one's cause away again. */
export class Inflictor {
  private readonly counts = new Map<string, number>();

  constructor(
    private readonly stage: { readonly platform: Platform; readonly daemons: readonly Daemon[] },
    private readonly log: FaultLog,
    private readonly interrupted: AbortSignal,
  ) {}

  /** How often each kind was done. */
  get done(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.counts].toSorted(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** Resolves when all are done and every link works again. */
  async inflict(plan: readonly Fault[], overMs: number): Promise<void> {
    const startedAt = performance.now();
    const under: Promise<void>[] = [];
    for (const fault of plan) {
      await this.wait(startedAt + fault.at * overMs - performance.now());
      this.counts.set(fault.kind, (this.counts.get(fault.kind) ?? 0) + 1);
      const one = this.one(fault);
      // Of a run that is interrupted nobody comes to await it.
      one.catch(() => {});
      under.push(one);
    }
    await this.wait(startedAt + overMs - performance.now());
    await Promise.all(under);
    for (const { setup } of this.stage.daemons) setup.proxy.heal();
  }

  /** The daemons reach the platform that listens now. */
  retarget(): void {
    for (const { setup } of this.stage.daemons) setup.proxy.target = this.stage.platform.ports.at(-1);
  }

  private async one(fault: Fault): Promise<void> {
    const over = this.log.begin(fault.kind, fault.daemon);
    try {
      await (fault.daemon === undefined
        ? this.atPlatform(fault)
        : this.atDaemon(fault, this.stage.daemons[fault.daemon] as Daemon));
    } finally {
      over();
    }
  }

  private async atPlatform({ kind }: Fault): Promise<void> {
    await this.stage.platform.restart(kind === 'kill_platform' ? 'SIGKILL' : 'SIGTERM');
    this.retarget();
  }

  private async atDaemon({ kind, ms, afterBytes, daemon: index = 0 }: Fault, daemon: Daemon): Promise<void> {
    const { proxy } = daemon.setup;
    if (kind === 'cut') {
      proxy.cut(afterBytes);
      // It lasts until so many bytes have passed.
      if (afterBytes > 0) await this.wait(ms);
      proxy.cut(0);
    } else if (kind === 'close') {
      proxy.closeLinks();
    } else if (kind === 'refuse') {
      proxy.refuse(true);
      proxy.cut(0);
      await this.wait(ms);
      proxy.refuse(false);
    } else if (kind === 'stall_up' || kind === 'stall_down' || kind === 'stall') {
      const ways: Direction[] = kind === 'stall' ? ['up', 'down'] : [kind === 'stall_up' ? 'up' : 'down'];
      for (const way of ways) proxy.stall(way);
      await this.wait(ms);
      for (const way of ways) proxy.release(way);
    } else if (kind === 'delay') {
      proxy.delay(5 + ms / 50);
      await this.wait(ms);
      proxy.delay(0);
    } else if (kind === 'freeze') {
      await daemon.freeze(ms, (forMs) => this.wait(forMs));
    } else {
      const [signal, how] =
        kind === 'kill_daemon' ? (['SIGKILL', 'killed'] as const) : (['SIGTERM', 'stopped'] as const);
      await daemon.restart(signal, () => this.log.ending(index, how));
    }
  }

  private async wait(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, undefined, { signal: this.interrupted });
  }
}
