import type { Fleet } from './fleet.js';
import type { Sandbox } from './sandbox.js';

/** What can happen to a sandbox by itself. */
interface UpkeepActions {
  stop(sandbox: Sandbox, force: boolean): void;
  archive(sandbox: Sandbox): void;
  delete(sandbox: Sandbox): void;
}

/** What happens to sandboxes by itself, after the intervals that each of them has. */
export class Upkeep {
  constructor(
    private readonly fleet: Fleet,
    private readonly actions: UpkeepActions,
  ) {}

  /** Arms it once the transition that is under way has ended. */
  watch(sandbox: Sandbox): void {
    void sandbox.lifecycle
      .settled(Infinity, this.fleet.closing)
      .then(() => this.arm(sandbox))
      .catch(() => {});
  }

  /** To be called again after each activity. */
  arm(sandbox: Sandbox): void {
    const { intervals, lifecycle, settings, createdAt } = sandbox;
    const { autoStop, autoArchive, autoDelete, ttl } = intervals.values;
    const armed: (readonly [minutes: number, act: () => void])[] = [];
    const add = (minutes: number, act: () => void) => armed.push([minutes, () => quietly(act)]);
    const age = (Date.now() - createdAt.getTime()) / settings.minuteMs;
    if (ttl > 0) add(Math.max(0, ttl - age), () => this.actions.delete(sandbox));
    if (lifecycle.state === 'started' && autoStop > 0) {
      // An open connection is activity.
      add(autoStop, () => (sandbox.users > 0 ? this.arm(sandbox) : this.actions.stop(sandbox, false)));
    }
    if (lifecycle.state === 'stopped') {
      if (autoArchive > 0) add(autoArchive, () => this.actions.archive(sandbox));
      if (autoDelete > 0) add(autoDelete, () => this.actions.delete(sandbox));
    }
    intervals.arm(armed);
  }
}

/** What is refused is left: another transition was faster. */
function quietly(act: () => void): void {
  try {
    act();
  } catch {
    // Nobody asked.
  }
}
