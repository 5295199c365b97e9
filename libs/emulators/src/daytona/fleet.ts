import type { EmulatorRoot } from '../kit/emulator-root.js';
import { apiFailure, noSuchSandbox } from './api-failure.js';
import type { CreateRequest } from './create-request.js';
import { dtoOf, type SandboxDto } from './dto.js';
import type { FailingOperation, PlannedFailure } from './lifecycle.js';
import { ListIndex } from './list-index.js';
import type { DaytonaSettings } from './options.js';
import { Sandbox } from './sandbox.js';
import { Snapshots } from './snapshots.js';

/** All sandboxes of the organization. */
export class Fleet {
  readonly snapshots: Snapshots;
  readonly index: ListIndex;
  readonly #sandboxes = new Map<string, Sandbox>();
  readonly #planned = new Map<FailingOperation, PlannedFailure>();

  constructor(
    readonly settings: DaytonaSettings,
    private readonly root: EmulatorRoot,
    /** Of the server. */
    private readonly url: string,
    readonly closing: AbortSignal,
  ) {
    this.snapshots = new Snapshots(settings, root);
    this.index = new ListIndex(settings);
  }

  get toolboxUrl(): string {
    return `${this.url}/toolbox`;
  }

  get all(): readonly Sandbox[] {
    return [...this.#sandboxes.values()].filter(isThere);
  }

  byId(id: string): Sandbox | undefined {
    const sandbox = this.#sandboxes.get(id);
    return sandbox && isThere(sandbox) ? sandbox : undefined;
  }

  find(idOrName: string): Sandbox | undefined {
    return this.byId(idOrName) ?? this.all.find(({ name }) => name === idOrName);
  }

  /** @throws {ApiFailure} 404 */
  get(idOrName: string): Sandbox {
    const sandbox = this.find(idOrName);
    if (!sandbox) throw noSuchSandbox(idOrName);
    return sandbox;
  }

  show(sandbox: Sandbox): SandboxDto {
    return dtoOf(sandbox, this.toolboxUrl);
  }

  /** The next such operation is to end like this. */
  plan(operation: FailingOperation, failure: PlannedFailure): void {
    this.#planned.set(operation, failure);
  }

  takePlanned(operation: FailingOperation): PlannedFailure | undefined {
    const failure = this.#planned.get(operation);
    this.#planned.delete(operation);
    return failure;
  }

  /** It is there, though nothing of it has begun. @throws {ApiFailure} 409 or 400 when the name is taken */
  add(request: CreateRequest): Sandbox {
    if (request.name && this.all.some(({ name }) => name === request.name)) {
      throw apiFailure(this.settings.alternatives.nameTaken, `Sandbox with name ${request.name} already exists`);
    }
    const sandbox = new Sandbox(request, {
      settings: this.settings,
      root: this.root,
      closing: this.closing,
      changed: (changed) => {
        if (this.#sandboxes.has(changed.id) && changed.lifecycle.state !== 'destroyed')
          this.index.put(this.show(changed));
      },
    });
    this.#sandboxes.set(sandbox.id, sandbox);
    return sandbox;
  }

  /** It is not there any more. */
  forget(sandbox: Sandbox): void {
    this.#sandboxes.delete(sandbox.id);
    sandbox.timers.close();
    this.index.remove(sandbox.id);
  }

  /** No timer fires from here on, and what waits for a sandbox does not any more. */
  close(): void {
    for (const sandbox of this.#sandboxes.values()) sandbox.close();
    this.snapshots.close();
  }

  /** Waits for what is being done to files and processes. */
  async quiet(): Promise<void> {
    await Promise.all([...this.#sandboxes.values()].map(async ({ lifecycle }) => await lifecycle.quiet()));
  }
}

/** What could not be destroyed is not there either. */
function isThere({ lifecycle }: Sandbox): boolean {
  return lifecycle.state !== 'destroyed' && !(lifecycle.failure && lifecycle.desired === 'destroyed');
}
