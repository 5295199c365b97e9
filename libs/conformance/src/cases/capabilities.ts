import { SANDBOX_CAPABILITIES } from '#libs/contract';
import type { ConformanceCase } from '../conformance-case.js';
import { expectEqual, expectThat } from '../expect.js';

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
];
