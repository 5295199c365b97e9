import type { ConformanceCase } from '../conformance-case.js';
import { expectEqual, expectError } from '../expect.js';

const PASSING = ['unavailable', 'rate_limited'] as const;

/** What could not be told, or was not done, is never told as an answer. */
export const faultTellingCases: readonly ConformanceCase[] = [
  {
    id: 'FLT-062',
    title: 'does not take a file for missing of which it could not be told, nor a directory for empty',
    level: 'MUST',
    promise: 'not-found',
    needs: ['files', 'fault:failBefore'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'directory/file', 'kept');
      const calls = {
        readFile: async () => Buffer.from(await t.adapter.readFile(handle, 'directory/file')).toString(),
        statFile: async () => (await t.adapter.statFile(handle, 'directory/file')).size,
        listFiles: async () => (await t.adapter.listFiles(handle, 'directory')).map(({ name }) => name),
      };
      for (const [operation, call] of Object.entries(calls) as [keyof typeof calls, () => Promise<unknown>][]) {
        const heal = await t.inject('failBefore', operation);
        const answer = await call().catch((error: unknown) => {
          expectError(operation, error, { code: PASSING, effect: 'none' });
        });
        await heal();
        // It may have been asked again by itself.
        if (answer !== undefined) expectEqual(operation, answer, await call());
      }
    },
  },
  {
    id: 'FLT-063',
    title: 'does not say that a policy holds that was refused',
    level: 'MUST',
    promise: 'policy',
    needs: ['network_policy', 'fault:failBefore', 'insight:egress'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.applyNetworkPolicy(handle, { allow: ['one.example'] });
      const heal = await t.inject('failBefore', 'applyNetworkPolicy');
      const applied = await t.adapter.applyNetworkPolicy(handle, { allow: [] }).then(
        () => true,
        (error: unknown) => {
          expectError('applyNetworkPolicy', error, { code: PASSING, effect: ['none', 'unknown'] });
          return false;
        },
      );
      await heal();
      expectEqual('what may be reached', await t.egress(handle), applied ? [] : ['one.example']);
    },
  },
];
