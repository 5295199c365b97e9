import type { Call } from './call.js';
import type { Fault, FaultEffect, InstalledFault } from './fault.js';
import { matches } from './path-pattern.js';

class Installed implements InstalledFault {
  #seen = 0;
  #hits = 0;

  constructor(
    readonly fault: Fault,
    readonly remove: () => void,
  ) {}

  get hits(): number {
    return this.#hits;
  }

  hit(call: Call): boolean {
    if (!matches(this.fault, call)) return false;
    this.#seen += 1;
    const { nth = 1, times = 1 } = this.fault;
    if (this.#seen < nth || this.#seen >= nth + times) return false;
    this.#hits += 1;
    return true;
  }
}

/** The faults that are switched on. */
export class Faults {
  readonly #installed = new Set<Installed>();

  add(fault: Fault): InstalledFault {
    const installed: Installed = new Installed(fault, () => this.#installed.delete(installed));
    this.#installed.add(installed);
    return installed;
  }

  clear(): void {
    this.#installed.clear();
  }

  /** What hits this request, merged. */
  take(call: Call): FaultEffect {
    const hit = [...this.#installed].filter((installed) => installed.hit(call)).map(({ fault }) => fault);
    return Object.assign({}, ...hit.toReversed()) as FaultEffect;
  }
}
