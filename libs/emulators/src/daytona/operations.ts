import { apiFailure, noSuchSandbox } from './api-failure.js';
import { createRequestOf, sizeOf } from './create-request.js';
import type { SandboxDto } from './dto.js';
import type { Fleet } from './fleet.js';
import type { SandboxState, Transition } from './lifecycle.js';
import { updateNetwork, NO_NETWORK_RULES } from './network.js';
import type { Sandbox } from './sandbox.js';

type Body = Readonly<Record<string, unknown>>;

/** What the control plane does to sandboxes, each with its conditions. */
export class Operations {
  constructor(private readonly fleet: Fleet) {}

  /** @throws {ApiFailure} 400, 404, 409 */
  async create(body: Body): Promise<SandboxDto> {
    const { settings, snapshots } = this.fleet;
    const { delaysMs, alternatives, serverWaitMs } = settings;
    const asked = createRequestOf(body);
    if (Object.keys(asked.network).length > 0) this.#assertNetworkAllowed();
    const snapshot = asked.snapshot ? snapshots.usable(asked.snapshot) : undefined;
    const network = updateNetwork(NO_NETWORK_RULES, asked.network);
    const sandbox = this.fleet.add({ ...asked, network, ...(snapshot && { size: snapshot.size }) });
    const failure = this.fleet.takePlanned('create');
    const through: (readonly [SandboxState, number])[] = asked.buildInfo
      ? [
          ['pending_build', 0],
          ['building_snapshot', delaysMs.build],
        ]
      : [];
    const warm = alternatives.createAnswer === 'started' && !failure;
    if (!warm) through.push(['creating', delaysMs.create], ['starting', delaysMs.start]);
    sandbox.lifecycle.begin(
      {
        through,
        to: 'started',
        desired: 'started',
        act: async () => {
          if (snapshot?.directory) await snapshots.copyInto(snapshot, sandbox.files);
          sandbox.boot();
        },
      },
      failure,
    );
    const created = this.fleet.show(sandbox);
    this.#watch(sandbox);
    if (warm) {
      await sandbox.lifecycle.settled(Infinity, this.fleet.closing);
      return this.fleet.show(sandbox);
    }
    if (alternatives.createAnswer === 'creating_after_wait') {
      await sandbox.lifecycle.settled(serverWaitMs, this.fleet.closing);
      const ended = sandbox.lifecycle.failure;
      if (ended) throw apiFailure(400, `Sandbox failed to start: ${ended.reason}`);
    }
    return created;
  }

  /** @throws {ApiFailure} 400, 409 */
  async start(sandbox: Sandbox): Promise<void> {
    const { lifecycle } = sandbox;
    const { delaysMs, alternatives, serverWaitMs } = sandbox.settings;
    if (lifecycle.state === 'started' && !lifecycle.pending) return;
    if (lifecycle.failure) throw apiFailure(400, 'Sandbox is in an errored state');
    lifecycle.assertQuiet();
    const archived = lifecycle.state === 'archived';
    if (!archived && lifecycle.state !== 'stopped') throw apiFailure(400, 'Sandbox is not in valid state');
    this.#begin(
      sandbox,
      {
        through: [...(archived ? [['restoring', delaysMs.restore] as const] : []), ['starting', delaysMs.start]],
        to: 'started',
        desired: 'started',
        act: async () => sandbox.boot(),
      },
      this.fleet.takePlanned('start'),
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
    return this.#begin(sandbox, {
      through: [['stopping', settings.delaysMs.stop]],
      to: 'stopped',
      desired: 'stopped',
      act: async () => await sandbox.halt(force),
    });
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
    lifecycle.assertQuiet();
    if (alternatives.nameAfterDelete === 'free') sandbox.name = `DESTROYED_${sandbox.name}_${Date.now()}`;
    sandbox.intervals.arm([]);
    lifecycle.begin({
      through: [['destroying', delaysMs.destroy]],
      to: 'destroyed',
      desired: 'destroyed',
      act: async () => {
        await sandbox.halt(true);
        await sandbox.removeDisk();
      },
    });
    void lifecycle
      .settled(Infinity, this.fleet.closing)
      .then(() => this.fleet.forget(sandbox))
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
  setNetwork(sandbox: Sandbox, update: Parameters<typeof updateNetwork>[1]): void {
    this.#assertNetworkAllowed();
    if (Object.keys(update).length === 0) throw apiFailure(400, 'At least one network setting must be given');
    const { alternatives } = sandbox.settings;
    if (alternatives.networkWhenStopped === 'refused' && sandbox.lifecycle.state !== 'started') {
      throw apiFailure(400, 'Sandbox is not started');
    }
    sandbox.network = updateNetwork(sandbox.network, update);
    sandbox.changed();
  }

  #assertNetworkAllowed(): void {
    const { networkSettings } = this.fleet.settings.alternatives;
    if (networkSettings === 'allowed') return;
    const message = 'Network access is restricted for this organization. Remove the network fields.';
    throw apiFailure(networkSettings === 'refused_400' ? 400 : 403, message);
  }

  #begin(sandbox: Sandbox, transition: Transition, failure?: Parameters<Sandbox['lifecycle']['begin']>[1]): void {
    sandbox.lifecycle.begin(transition, failure);
    this.#watch(sandbox);
  }

  /** What happens by itself once the transition that is under way has ended. */
  #watch(sandbox: Sandbox): void {
    const { lifecycle } = sandbox;
    void lifecycle
      .settled(Infinity, this.fleet.closing)
      .then(() => this.arm(sandbox))
      .catch(() => {});
  }

  /** To be called again after each activity. */
  arm(sandbox: Sandbox): void {
    const { autoStop, autoArchive, autoDelete, ttl } = sandbox.intervals.values;
    const quietly = (act: () => void) => () => {
      try {
        act();
      } catch {
        // Another transition was faster.
      }
    };
    const actions: (readonly [number, () => void])[] = [];
    const age = (Date.now() - sandbox.createdAt.getTime()) / sandbox.settings.minuteMs;
    if (ttl > 0) actions.push([Math.max(0, ttl - age), quietly(() => this.delete(sandbox))]);
    if (sandbox.lifecycle.state === 'started' && autoStop > 0) {
      actions.push([autoStop, quietly(() => this.stop(sandbox, false))]);
    }
    if (sandbox.lifecycle.state === 'stopped') {
      if (autoArchive > 0) actions.push([autoArchive, quietly(() => this.archive(sandbox))]);
      if (autoDelete > 0) actions.push([autoDelete, quietly(() => this.delete(sandbox))]);
    }
    sandbox.intervals.arm(actions);
  }
}
