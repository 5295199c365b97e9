import { SandboxError, type SandboxHandle } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import type { E2bControl } from './e2b.control.js';
import { changedNothing, noSandbox } from './e2b.errors.js';
import { E2bMachine } from './e2b.machine.js';
import type { E2bNames } from './e2b.names.js';
import type { E2bResidents } from './e2b.residents.js';
import type { SandboxResource } from './e2b.resource.js';

/** The sandboxes of handles. What was found for a handle is kept with it; ids never come again. */
export class E2bMachines {
  readonly #control: E2bControl;
  readonly #names: E2bNames;
  readonly #residents: E2bResidents;
  readonly #found = new WeakMap<SandboxHandle, E2bMachine>();

  constructor(control: E2bControl, names: E2bNames, residents: E2bResidents) {
    this.#control = control;
    this.#names = names;
    this.#residents = residents;
  }

  /** Works in the sandbox of a handle. Where the one of before is gone, another of its name may be there. */
  async within<T>(handle: SandboxHandle, deadline: Deadline, work: (machine: E2bMachine) => Promise<T>): Promise<T> {
    const known = this.#found.get(handle);
    if (known === undefined) return work(await this.#find(handle, deadline));
    try {
      if (known.isGone) throw noSandbox(handle.name);
      return await work(known);
    } catch (error) {
      const isUntouched = error instanceof SandboxError && error.code === 'not_found' && error.effect === 'none';
      if (!known.isGone || !isUntouched) throw error;
      this.#found.delete(handle);
      return work(await this.#find(handle, deadline));
    }
  }

  /** Of a sandbox that was made, or found. */
  keep(handle: SandboxHandle, resource: SandboxResource): SandboxHandle {
    // A list does not tell it.
    if (resource.token !== undefined) this.#found.set(handle, this.#machine(handle, resource));
    return handle;
  }

  forget(handle: SandboxHandle): void {
    this.#found.delete(handle);
  }

  async #find(handle: SandboxHandle, deadline: Deadline): Promise<E2bMachine> {
    const seen = await this.#names.get(handle, deadline).catch(changedNothing);
    const whole = await this.#whole(seen, handle, deadline);
    if (whole === undefined) throw noSandbox(handle.name);
    const machine = this.#machine(handle, whole);
    this.#found.set(handle, machine);
    return machine;
  }

  /** With its token, running. */
  async #whole(
    seen: SandboxResource,
    { instanceId }: SandboxHandle,
    deadline: Deadline,
  ): Promise<SandboxResource | undefined> {
    const whole = instanceId === undefined ? await this.#control.find(seen.id, deadline).catch(changedNothing) : seen;
    // One that is paused does not tell its domain.
    if (whole?.state !== 'suspended') return whole;
    const running = await this.#control.connect(seen.id, deadline);
    this.#residents.unpark(seen.id);
    return running;
  }

  #machine(handle: SandboxHandle, resource: SandboxResource): E2bMachine {
    return new E2bMachine(this.#control, this.#residents, handle.name, resource);
  }
}
