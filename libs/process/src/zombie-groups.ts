import type { ProcessGroup } from './process-group.js';
import { processTable } from './process-table.js';

/**
 * Finds groups of which only zombies are left. Where nobody reaps orphans, as in a container whose PID 1 is no init,
 * the kernel says of such a group for ever that it has a process.
 */
export class ZombieGroups {
  /** Those without a running process at the last look: one that forked meanwhile may have been missed. */
  #suspects: ReadonlySet<ProcessGroup> = new Set();
  #looking = false;

  /** Marks as empty those of `groups` in which two looks in a row found nothing that runs. */
  async look(groups: readonly ProcessGroup[]): Promise<void> {
    if (this.#looking) return;
    const there = groups.filter((group) => group.look());
    if (there.length === 0) {
      this.#suspects = new Set();
      return;
    }
    this.#looking = true;
    try {
      const running = new Set((await processTable()).filter(({ zombie }) => !zombie).map(({ group }) => group));
      const suspects = there.filter((group) => !group.leaderRunning && !running.has(group.id));
      for (const group of suspects) if (this.#suspects.has(group)) group.onlyZombies();
      this.#suspects = new Set(suspects);
    } finally {
      this.#looking = false;
    }
  }
}
