import { entryOf, type SandboxDto } from './dto.js';
import type { DaytonaSettings } from './options.js';

/** What the listing is to tell of a sandbox from some time on; `undefined`: nothing. */
interface Revision {
  readonly from: number;
  readonly entry: SandboxDto | undefined;
}

/** What the listing knows: the sandboxes as they were some time ago. */
export class ListIndex {
  readonly #revisions = new Map<string, Revision[]>();

  constructor(private readonly settings: Pick<DaytonaSettings, 'indexDelayMs' | 'alternatives'>) {}

  /** All that are told, in no particular order. */
  get entries(): SandboxDto[] {
    return [...this.#revisions.keys()].flatMap((id) => this.#current(id) ?? []);
  }

  put(dto: SandboxDto): void {
    if (dto.state === 'destroying' && this.settings.alternatives.listAfterDelete === 'flaps') this.#flap(dto);
    else this.#revise(dto.id, this.settings.indexDelayMs, entryOf(dto));
  }

  remove(id: string): void {
    this.#revise(id, this.settings.indexDelayMs, undefined);
  }

  /** Away at once, there again as it was, destroying. */
  #flap(dto: SandboxDto): void {
    const third = this.settings.indexDelayMs / 3;
    const before = this.#current(dto.id);
    this.#revise(dto.id, 0, undefined);
    this.#revise(dto.id, third, before);
    this.#revise(dto.id, 2 * third, entryOf(dto));
  }

  #revise(id: string, delayMs: number, entry: SandboxDto | undefined): void {
    const now = performance.now();
    const revisions = this.#revisions.get(id) ?? [];
    const past = revisions.findLastIndex(({ from }) => from <= now);
    this.#revisions.set(id, [...revisions.slice(Math.max(0, past)), { from: now + delayMs, entry }]);
  }

  #current(id: string): SandboxDto | undefined {
    const revisions = this.#revisions.get(id)!;
    const now = performance.now();
    const at = revisions.findLastIndex(({ from }) => from <= now);
    if (at === -1) return undefined;
    const kept = revisions.slice(at);
    if (kept.length === 1 && !kept[0]!.entry) this.#revisions.delete(id);
    else this.#revisions.set(id, kept);
    return kept[0]!.entry;
  }
}
