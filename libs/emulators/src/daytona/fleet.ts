import type { EmulatorRoot } from '../kit/emulator-root.js';
import { apiFailure, noSuchSandbox } from './api-failure.js';
import type { CreateRequest } from './create-request.js';
import { dtoOf, type SandboxDto } from './dto.js';
import type { PlannedFailure } from './lifecycle.js';
import { ListIndex } from './list-index.js';
import type { DaytonaSettings } from './options.js';
import { Sandbox } from './sandbox.js';
import { Snapshots } from './snapshots.js';

/** What can be made to fail. */
export type FailingOperation = 'create' | 'start' | 'snapshot';

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
    return [...this.#sandboxes.values()];
  }

  byId(id: string): Sandbox | undefined {
    const sandbox = this.#sandboxes.get(id);
    return sandbox?.lifecycle.state === 'destroyed' ? undefined : sandbox;
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
      changed: (changed) => {
        if (this.byId(changed.id)) this.index.put(this.show(changed));
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

  close(): void {
    for (const sandbox of this.all) sandbox.close();
    this.snapshots.close();
  }
}
