import type { Timers } from '../kit/timers.js';

/** Minutes. */
export interface IntervalSettings {
  /** Without activity until the stop; 0: never. */
  readonly autoStop: number;
  /** From the stop until the archive. */
  readonly autoArchive: number;
  /** From the stop until the delete; 0: instead of the stop, negative: never. */
  readonly autoDelete: number;
  /** From the creation until the delete; 0: never. */
  readonly ttl: number;
}

/** What happens to a sandbox by itself. */
export class Intervals {
  #callOff: (() => void)[] = [];
  #values: IntervalSettings;

  constructor(
    values: IntervalSettings,
    private readonly minuteMs: number,
    private readonly timers: Timers,
  ) {
    this.#values = values;
  }

  get values(): IntervalSettings {
    return this.#values;
  }

  set(values: Partial<IntervalSettings>): void {
    this.#values = { ...this.#values, ...values };
  }

  /** Calls off what was armed, and arms each action to come after so many minutes from now. */
  arm(actions: readonly (readonly [minutes: number, act: () => void])[]): void {
    for (const callOff of this.#callOff) callOff();
    this.#callOff = actions.map(([minutes, act]) => this.timers.after(minutes * this.minuteMs, act));
  }
}
