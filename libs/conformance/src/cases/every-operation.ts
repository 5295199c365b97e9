import type { CallOptions, SandboxAdapter, SandboxCapability, SandboxHandle } from '#libs/contract';
import type { CaseContext } from '../case-context.js';

/** One operation on an existing or a missing sandbox, with arguments that are fine. */
export interface OperationCall {
  readonly operation: string;
  readonly needs?: SandboxCapability;
  readonly call: (adapter: SandboxAdapter, handle: SandboxHandle, options?: CallOptions) => Promise<unknown>;
}

const SESSION = 'no-such-session';

/** Every operation that acts on one sandbox, but for those that succeed on a missing one. */
export const ON_A_SANDBOX: readonly OperationCall[] = [
  { operation: 'get', call: (a, h, o) => a.get(h, o) },
  { operation: 'exec', call: (a, h, o) => a.exec(h, 'true', [], o) },
  { operation: 'spawn', call: (a, h, o) => a.spawn(h, 'true', [], o) },
  { operation: 'writeFile', call: (a, h, o) => a.writeFile(h, 'file', 'content', o) },
  { operation: 'suspend', needs: 'suspend', call: (a, h, o) => a.suspend(h, o) },
  { operation: 'resume', needs: 'suspend', call: (a, h, o) => a.resume(h, o) },
  { operation: 'listSessions', needs: 'attach', call: (a, h, o) => a.listSessions(h, o) },
  { operation: 'attach', needs: 'attach', call: (a, h, o) => a.attach(h, SESSION, o) },
  { operation: 'readFile', needs: 'files', call: (a, h, o) => a.readFile(h, 'file', o) },
  { operation: 'listFiles', needs: 'files', call: (a, h, o) => a.listFiles(h, '.', o) },
  { operation: 'statFile', needs: 'files', call: (a, h, o) => a.statFile(h, 'file', o) },
  {
    operation: 'applyNetworkPolicy',
    needs: 'network_policy',
    call: (a, h, o) => a.applyNetworkPolicy(h, { allow: [] }, o),
  },
  { operation: 'publicUrl', needs: 'public_url', call: (a, h, o) => a.publicUrl(h, { port: 8080 }, o) },
  { operation: 'createCheckpoint', needs: 'checkpoint', call: (a, h, o) => a.createCheckpoint(h, o) },
  { operation: 'restoreCheckpoint', needs: 'checkpoint', call: (a, h, o) => a.restoreCheckpoint(h, 'v1', o) },
];

/** Every operation, those included that succeed on a missing sandbox or need none. */
export const EVERY_OPERATION: readonly OperationCall[] = [
  ...ON_A_SANDBOX,
  { operation: 'capabilitiesOf', call: (a, h, o) => a.capabilitiesOf(h, o) },
  { operation: 'create', call: (a, h, o) => a.create(h.name, o) },
  { operation: 'createNew', needs: 'create_new', call: (a, h, o) => a.createNew(h.name, o) },
  { operation: 'destroy', call: (a, h, o) => a.destroy(h, o) },
  { operation: 'listAllNames', call: (a, _, o) => a.listAllNames(o) },
  { operation: 'terminateSession', needs: 'terminate_session', call: (a, h, o) => a.terminateSession(h, SESSION, o) },
  { operation: 'hostPath', call: (a, h, o) => a.hostPath(h, '/file', o) },
];

/** Whether the subject of the case can do it. */
export function supports({ subject }: CaseContext, capability: SandboxCapability): boolean {
  return (subject.capabilities ?? subject.adapter.capabilities).has(capability);
}

/** Those that the subject of the case can do. */
export function supported(calls: readonly OperationCall[], t: CaseContext): readonly OperationCall[] {
  return calls.filter(({ needs }) => needs === undefined || supports(t, needs));
}
