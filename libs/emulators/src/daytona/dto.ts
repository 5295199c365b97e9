import type { Sandbox } from './sandbox.js';
import type { SandboxState } from './lifecycle.js';

/** A sandbox as the control plane shows it. */
export type SandboxDto = Readonly<Record<string, unknown>> & {
  readonly id: string;
  readonly name: string;
  readonly state: SandboxState;
};

/** Fields that the listing leaves out. */
const DETAILS: ReadonlySet<string> = new Set(['env', 'volumes', 'buildInfo']);

/** @param toolboxUrl of the proxy, without the id */
export function dtoOf(sandbox: Sandbox, toolboxUrl: string): SandboxDto {
  const { request, lifecycle, network, intervals, settings } = sandbox;
  const { failure } = lifecycle;
  const { toolboxUrl: form } = settings.alternatives;
  const { autoStop, autoArchive, autoDelete, ttl } = intervals.values;
  return {
    id: sandbox.id,
    organizationId: settings.organizationId,
    name: sandbox.name,
    user: request.user,
    env: request.env,
    labels: sandbox.labels,
    public: sandbox.public,
    networkBlockAll: network.networkBlockAll,
    ...(network.networkAllowList && { networkAllowList: network.networkAllowList }),
    ...(network.domainAllowList && { domainAllowList: network.domainAllowList }),
    target: request.target,
    cpu: sandbox.cpu,
    gpu: 0,
    memory: sandbox.memory,
    disk: sandbox.disk,
    ...(form !== 'absent' && { toolboxProxyUrl: form === 'plain' ? toolboxUrl : `${toolboxUrl}/` }),
    state: lifecycle.state,
    desiredState: lifecycle.desired,
    ...(failure && { errorReason: failure.reason, recoverable: failure.recoverable ?? false }),
    ...(request.snapshot && { snapshot: request.snapshot }),
    ...(request.buildInfo && { buildInfo: request.buildInfo }),
    sandboxClass: 'container',
    autoStopInterval: autoStop,
    autoArchiveInterval: autoArchive,
    autoDeleteInterval: autoDelete,
    ttlMinutes: ttl,
    backupState: lifecycle.state === 'archived' ? 'Completed' : 'None',
    volumes: [],
    createdAt: sandbox.createdAt.toISOString(),
    updatedAt: sandbox.updatedAt.toISOString(),
    lastActivityAt: sandbox.lastActivityAt.toISOString(),
    daemonVersion: sandbox.daemonVersion,
    runnerId: 'emulator',
  };
}

/** An entry of the listing. */
export function entryOf(dto: SandboxDto): SandboxDto {
  return Object.fromEntries(Object.entries(dto).filter(([name]) => !DETAILS.has(name))) as SandboxDto;
}
