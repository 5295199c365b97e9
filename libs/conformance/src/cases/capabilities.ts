import { SANDBOX_CAPABILITIES, type SandboxAdapter, type SandboxCapability, type SandboxHandle } from '#libs/contract';
import type { ConformanceCase } from '../conformance-case.js';
import { expectEqual, expectRejection, expectThat } from '../expect.js';

/** What needs a capability, each call with arguments that are fine. */
type Refused = Readonly<Record<string, (adapter: SandboxAdapter, handle: SandboxHandle) => Promise<unknown>>>;

/** The twin of every case that needs `capability`. */
function refused(id: string, capability: SandboxCapability, calls: Refused): ConformanceCase {
  return {
    id,
    title: `refuses ${Object.keys(calls).join(', ')} before any effect, as it has no ${capability}`,
    level: 'MUST',
    promise: 'capabilities',
    lacks: capability,
    async run(t) {
      const handle = capability === 'create_new' ? t.adapter.buildHandle(t.newName()) : await t.sandbox();
      for (const [what, call] of Object.entries(calls)) {
        const before = t.subject.insight?.requestCount?.();
        await expectRejection(what, call(t.adapter, handle), { code: 'not_supported', effect: 'none' });
        expectEqual(`requests of ${what}`, t.subject.insight?.requestCount?.(), before);
      }
    },
  };
}

export const capabilityCases: readonly ConformanceCase[] = [
  {
    id: 'CAP-001',
    title: 'declares only capabilities that the contract knows',
    level: 'MUST',
    promise: 'capabilities',
    async run({ adapter }) {
      const foreign = [...adapter.capabilities].filter((one) => !SANDBOX_CAPABILITIES.includes(one));
      expectEqual('capabilities that the contract does not know', foreign, []);
    },
  },
  {
    id: 'CAP-002',
    title: 'promises of one sandbox no more than of all of them',
    level: 'MUST',
    promise: 'capabilities',
    async run(t) {
      const now = await t.adapter.capabilitiesOf(await t.sandbox());
      const more = [...now].filter((one) => !t.adapter.capabilities.has(one));
      expectThat('capabilitiesOf a sandbox', more.length === 0, 'a part of `capabilities`', more);
    },
  },
  {
    id: 'CAP-003',
    title: 'answers supports as its capabilities say',
    level: 'MUST',
    promise: 'capabilities',
    async run({ adapter }) {
      const answers = SANDBOX_CAPABILITIES.filter((one) => adapter.supports(one));
      const declared = SANDBOX_CAPABILITIES.filter((one) => adapter.capabilities.has(one));
      expectEqual('capabilities for which supports says yes', answers, declared);
    },
  },
  {
    id: 'CAP-004',
    title: 'declares what it does where the contract leaves a choice',
    level: 'MUST',
    promise: 'capabilities',
    async run({ adapter: { traits } }) {
      const kinds = Object.fromEntries(Object.entries(traits).map(([key, value]) => [key, typeof value]));
      expectEqual('traits', kinds, {
        sessionsOnSuspend: 'string',
        parks: 'string',
        atomicWrites: 'boolean',
        listing: 'string',
        exactIncarnations: 'boolean',
      });
    },
  },
  refused('CAP-010', 'suspend', { suspend: (a, h) => a.suspend(h), resume: (a, h) => a.resume(h) }),
  refused('CAP-011', 'attach', { listSessions: (a, h) => a.listSessions(h), attach: (a, h) => a.attach(h, 'some-id') }),
  refused('CAP-012', 'terminate_session', { terminateSession: (a, h) => a.terminateSession(h, 'some-id') }),
  refused('CAP-013', 'files', {
    readFile: (a, h) => a.readFile(h, 'file'),
    listFiles: (a, h) => a.listFiles(h, '.'),
    statFile: (a, h) => a.statFile(h, 'file'),
  }),
  refused('CAP-014', 'tty', { 'spawn with a terminal': (a, h) => a.spawn(h, 'true', [], { tty: true }) }),
  refused('CAP-015', 'network_policy', { applyNetworkPolicy: (a, h) => a.applyNetworkPolicy(h, { allow: [] }) }),
  refused('CAP-016', 'public_url', { publicUrl: (a, h) => a.publicUrl(h, { port: 8080 }) }),
  refused('CAP-017', 'create_new', { createNew: (a, h) => a.createNew(h.name) }),
  refused('CAP-018', 'checkpoint', {
    createCheckpoint: (a, h) => a.createCheckpoint(h),
    restoreCheckpoint: (a, h) => a.restoreCheckpoint(h, 'v1'),
  }),
];
