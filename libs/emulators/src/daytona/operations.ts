import { apiFailure, noSuchSandbox } from './api-failure.js';
import { sizeOf } from './create-request.js';
import type { Fleet } from './fleet.js';
import type { Transition } from './lifecycle.js';
import { assertNetworkAllowed, updateNetwork, type Network } from './network.js';
import type { Sandbox } from './sandbox.js';
import { Upkeep } from './upkeep.js';

type Body = Readonly<Record<string, unknown>>;

/** What the control plane does to a sandbox, each with its conditions. */
export class Operations {
  readonly upkeep: Upkeep;

  constructor(private readonly fleet: Fleet) {
    this.upkeep = new Upkeep(fleet, this);
  }

  /** @throws {ApiFailure} 400, 409 */
  async start(sandbox: Sandbox): Promise<void> {
    const { lifecycle } = sandbox;
    const { delaysMs, alternatives, serverWaitMs } = sandbox.settings;
    if (lifecycle.state === 'started' && !lifecycle.pending) return;
    if (lifecycle.failure) throw apiFailure(400, 'Sandbox is in an errored state');
    if (lifecycle.state !== 'archiving') lifecycle.assertQuiet();
    const archived = lifecycle.state === 'archived';
    if (!archived && lifecycle.state !== 'stopped' && lifecycle.state !== 'archiving')
      throw apiFailure(400, 'Sandbox is not in valid state');
    this.#begin(
      sandbox,
      {
        through: [...(archived ? [['restoring', delaysMs.restore] as const] : []), ['starting', delaysMs.start]],
        to: 'started',
        desired: 'started',
        act: async () => sandbox.boot(),
      },
      this.fleet.takePlanned('start'),
      ['archiving'],
    );
    if (alternatives.startAnswer === 'after_wait' && !archived) {
      await lifecycle.settled(serverWaitMs, this.fleet.closing);
      const { failure } = lifecycle as Pick<typeof lifecycle, 'failure'>;
      if (failure) throw apiFailure(400, `Sandbox failed to start: ${failure.reason}`);
    }
  }

  /** @throws {ApiFailure} 400 unless it is in an error that allows it */
  async recover(sandbox: Sandbox): Promise<void> {
    const { lifecycle, settings } = sandbox;
    if (!lifecycle.failure?.recoverable) throw apiFailure(400, 'Sandbox is not recoverable');
    this.#begin(sandbox, {
      through: [['starting', settings.delaysMs.start]],
      to: 'started',
      desired: 'started',
      act: async () => sandbox.boot(),
    });
  }

  /** @throws {ApiFailure} 400, 409 */
  stop(sandbox: Sandbox, force: boolean): void {
    const { lifecycle, settings, intervals } = sandbox;
    if (lifecycle.failure) throw apiFailure(400, 'Sandbox is in an errored state');
    lifecycle.assertQuiet();
    if (lifecycle.state !== 'started') throw apiFailure(400, 'Sandbox is not in a stoppable state');
    // Ephemeral: it is destroyed instead.
    if (intervals.values.autoDelete === 0) return this.delete(sandbox);
    const transition: Transition = {
      through: [['stopping', settings.delaysMs.stop]],
      to: 'stopped',
      desired: 'stopped',
      act: async () => await sandbox.halt(force),
    };
    return this.#begin(sandbox, transition, this.fleet.takePlanned('stop'));
  }

  /** @throws {ApiFailure} 400, 409 */
  archive(sandbox: Sandbox): void {
    const { lifecycle, settings, intervals } = sandbox;
    lifecycle.assertQuiet();
    if (lifecycle.state !== 'stopped') throw apiFailure(400, 'Sandbox is not stopped');
    if (intervals.values.autoDelete === 0) throw apiFailure(400, 'Ephemeral sandboxes cannot be archived');
    this.#begin(sandbox, {
      through: [['archiving', settings.delaysMs.archive]],
      to: 'archived',
      desired: 'archived',
    });
  }

  /** @throws {ApiFailure} 404, 409 */
  delete(sandbox: Sandbox): void {
    const { lifecycle, settings } = sandbox;
    const { alternatives, delaysMs } = settings;
    if (lifecycle.desired === 'destroyed' && alternatives.secondDelete === 404) throw noSuchSandbox(sandbox.id);
    if (lifecycle.state !== 'pending_build') lifecycle.assertQuiet();
    if (alternatives.nameAfterDelete === 'free') sandbox.name = `DESTROYED_${sandbox.name}_${Date.now()}`;
    sandbox.intervals.arm([]);
    const transition: Transition = {
      through: [['destroying', delaysMs.destroy]],
      to: 'destroyed',
      desired: 'destroyed',
      act: async () => {
        await sandbox.halt(true);
        await sandbox.removeDisk();
      },
    };
    lifecycle.begin(transition, this.fleet.takePlanned('destroy'), ['pending_build']);
    void lifecycle
      .settled(Infinity, this.fleet.closing)
      .then(() => (lifecycle.failure ? undefined : this.fleet.forget(sandbox)))
      .catch(() => {});
  }

  /** @throws {ApiFailure} 400, 404 where the organization may not, 409 */
  resize(sandbox: Sandbox, body: Body, path: string): void {
    const { lifecycle, settings } = sandbox;
    if (settings.alternatives.resize === 'off') throw apiFailure(404, `Cannot POST ${path}`);
    lifecycle.assertQuiet();
    const { state } = lifecycle;
    if (state !== 'started' && state !== 'stopped') throw apiFailure(400, 'Sandbox is not in valid state');
    const before = { cpu: sandbox.cpu, memory: sandbox.memory, disk: sandbox.disk };
    const after = sizeOf(body, before);
    const { cpu, memory, disk } = after;
    if (cpu === before.cpu && memory === before.memory && disk === before.disk) {
      throw apiFailure(400, 'No resource is changed');
    }
    if (disk < before.disk) throw apiFailure(400, 'Disk cannot be made smaller');
    if (state === 'started' && disk !== before.disk) throw apiFailure(400, 'Disk cannot be resized while started');
    if (state === 'started' && (cpu < before.cpu || memory < before.memory)) {
      throw apiFailure(400, 'CPU and memory cannot be made smaller while started');
    }
    this.#begin(sandbox, {
      through: [['resizing', settings.delaysMs.resize]],
      to: state,
      desired: state,
      act: async () => void Object.assign(sandbox, after),
    });
  }

  /** Its outcome is only seen in the snapshot. @throws {ApiFailure} 400, 409 */
  snapshot(sandbox: Sandbox, body: Body): void {
    const { lifecycle, settings } = sandbox;
    lifecycle.assertQuiet();
    const { state } = lifecycle;
    if (state !== 'started' && state !== 'stopped') throw apiFailure(400, 'Sandbox must be started or stopped');
    if (body['includeMemory'] === true) throw apiFailure(400, 'Memory is not supported for this sandbox class');
    const failure = this.fleet.takePlanned('snapshot');
    const capture = this.fleet.snapshots.capture(sandbox, body['name'], failure);
    lifecycle.begin({
      through: [['snapshotting', settings.delaysMs.snapshot]],
      to: state,
      desired: state,
      act: capture,
    });
  }

  /** @throws {ApiFailure} 400, 403 */
  setNetwork(sandbox: Sandbox, update: Partial<Network>): void {
    assertNetworkAllowed(this.fleet.settings);
    if (Object.keys(update).length === 0) throw apiFailure(400, 'At least one network setting must be given');
    const { alternatives } = sandbox.settings;
    if (alternatives.networkWhenStopped === 'refused' && sandbox.lifecycle.state !== 'started') {
      throw apiFailure(400, 'Sandbox is not started');
    }
    sandbox.network = updateNetwork(sandbox.network, update);
    sandbox.changed();
  }

  #begin(sandbox: Sandbox, ...how: Parameters<Sandbox['lifecycle']['begin']>): void {
    sandbox.lifecycle.begin(...how);
    this.upkeep.watch(sandbox);
  }
}
