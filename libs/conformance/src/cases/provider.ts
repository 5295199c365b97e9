import type { ConformanceCase } from '../conformance-case.js';
import { expectFile, expectNothingAt } from '../errands.js';
import { expectEqual, expectRejection, expectThat } from '../expect.js';
import { expectNoSuccess } from '../session.js';

const INVALID = { code: 'invalid', detail: 'argument', effect: 'none' } as const;
const NOT_FOUND = { code: 'not_found', effect: 'none' } as const;

export const policyCases: readonly ConformanceCase[] = [
  {
    id: 'POL-001',
    title: 'has an empty policy deny everything',
    level: 'MUST',
    promise: 'policy',
    needs: ['network_policy', 'insight:egress'],
    async run(t) {
      const handle = await t.sandbox();
      expectEqual('what may be reached before', await t.egress(handle), undefined);
      await t.adapter.applyNetworkPolicy(handle, { allow: [] });
      expectEqual('what may be reached', await t.egress(handle), []);
    },
  },
  {
    id: 'POL-002',
    title: 'allows the hosts of a policy and nothing else, in place of the one before',
    level: 'MUST',
    promise: 'policy',
    needs: ['network_policy', 'insight:egress'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.applyNetworkPolicy(handle, { allow: ['one.example.com', 'two.example.com'] });
      expectEqual('what may be reached', (await t.egress(handle))?.toSorted(), ['one.example.com', 'two.example.com']);
      await t.adapter.applyNetworkPolicy(handle, { allow: ['three.example.com'] });
      expectEqual('what may be reached then', await t.egress(handle), ['three.example.com']);
    },
  },
  {
    id: 'POL-003',
    title: 'refuses a policy that is none, and leaves the one in force',
    level: 'MUST',
    promise: 'policy',
    needs: ['network_policy', 'insight:egress'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.applyNetworkPolicy(handle, { allow: [] });
      for (const policy of [
        undefined,
        {},
        { allow: 'example.com' },
        { allow: [''] },
        { allow: [7] },
        { allow: null },
      ]) {
        const call = t.adapter.applyNetworkPolicy(handle, policy as never);
        await expectRejection(`the policy ${JSON.stringify(policy)}`, call, INVALID);
      }
      expectEqual('what may be reached', await t.egress(handle), []);
    },
  },
  {
    id: 'POL-004',
    title: 'keeps a policy over suspend and resume, and to its own sandbox',
    level: 'MUST',
    promise: 'policy',
    needs: ['network_policy', 'suspend', 'insight:egress'],
    async run(t) {
      const [handle, other] = [await t.sandbox(), await t.sandbox()];
      await t.adapter.applyNetworkPolicy(handle, { allow: [] });
      await t.adapter.suspend(handle);
      expectEqual('what may be reached', await t.egress(await t.adapter.resume(handle)), []);
      expectEqual('what another may reach', await t.egress(other), undefined);
    },
  },
];

export const publicUrlCases: readonly ConformanceCase[] = [
  {
    id: 'URL-001',
    title: 'gives a URL for a port, the same each time, another for another sandbox',
    level: 'MUST',
    promise: 'public-url',
    needs: ['public_url'],
    async run(t) {
      const [handle, other] = [await t.sandbox(), await t.sandbox()];
      const url = await t.adapter.publicUrl(handle, { port: 8080 });
      const protocol = URL.canParse(url) ? new URL(url).protocol : 'none';
      expectThat('the URL', protocol === 'https:' || protocol === 'http:', 'http or https', url);
      expectEqual('its host again', new URL(await t.adapter.publicUrl(handle, { port: 8080 })).host, new URL(url).host);
      const another = await t.adapter.publicUrl(other, { port: 8080 });
      expectThat('the URL of another sandbox', another !== url, 'another', another);
    },
  },
  {
    id: 'URL-002',
    title: 'gives another URL for another port, or says that it has none',
    level: 'MUST',
    promise: 'public-url',
    needs: ['public_url'],
    async run(t) {
      const handle = await t.sandbox();
      const url = await t.adapter.publicUrl(handle, { port: 8080 });
      const second = await t.adapter.publicUrl(handle, { port: 3000 }).catch(async (error: unknown) => {
        await expectRejection('another port', Promise.reject(error), {
          code: 'not_supported',
          effect: 'none',
        });
        return undefined;
      });
      expectThat('the URL of another port', second !== url, 'another, or none', second);
    },
  },
  {
    id: 'URL-003',
    title: 'refuses a port that is none',
    level: 'MUST',
    promise: 'public-url',
    needs: ['public_url'],
    async run(t) {
      const handle = await t.sandbox();
      for (const port of [0, -1, 65_536, 80.5, Number.NaN, '8080', undefined]) {
        await expectRejection(`port ${port}`, t.adapter.publicUrl(handle, { port: port as number }), INVALID);
      }
    },
  },
];

export const checkpointCases: readonly ConformanceCase[] = [
  {
    id: 'CHK-001',
    title: 'brings the files of a checkpoint back, and takes later ones away',
    level: 'MUST',
    promise: 'checkpoints',
    needs: ['checkpoint'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'then');
      const { id } = await t.adapter.createCheckpoint(handle);
      expectThat('its id', typeof id === 'string' && id !== '', 'some text', id);
      await t.adapter.writeFile(handle, 'file', 'later');
      await t.adapter.writeFile(handle, 'more', 'later');
      await t.adapter.restoreCheckpoint(handle, id);
      await expectFile(t, handle, 'file', 'then');
      await expectNothingAt(t, handle, 'more');
    },
  },
  {
    id: 'CHK-002',
    title: 'gives every checkpoint an id of its own, and restores the one that is named',
    level: 'MUST',
    promise: 'checkpoints',
    needs: ['checkpoint'],
    async run(t) {
      const handle = await t.sandbox();
      const ids: string[] = [];
      for (const content of ['one', 'two', 'three']) {
        await t.adapter.writeFile(handle, 'file', content);
        ids.push((await t.adapter.createCheckpoint(handle)).id);
      }
      expectEqual('different ids', new Set(ids).size, 3);
      await t.adapter.restoreCheckpoint(handle, ids[1] as string);
      await expectFile(t, handle, 'file', 'two');
    },
  },
  {
    id: 'CHK-003',
    title: 'refuses a checkpoint that it does not have, and leaves the files',
    level: 'MUST',
    promise: 'checkpoints',
    needs: ['checkpoint'],
    async run(t) {
      const handle = await t.sandbox();
      await t.adapter.writeFile(handle, 'file', 'kept');
      const call = t.adapter.restoreCheckpoint(handle, 'no-such-checkpoint');
      await expectRejection('restoreCheckpoint', call, { code: ['not_found', 'invalid', 'restore_failed'] });
      await expectFile(t, handle, 'file', 'kept');
    },
  },
  {
    id: 'CHK-004',
    title: 'makes no success of a command that a restore ends',
    level: 'MUST',
    promise: 'checkpoints',
    needs: ['checkpoint'],
    async run(t) {
      const handle = await t.sandbox();
      const { id } = await t.adapter.createCheckpoint(handle);
      const reading = await t.run(handle, t.words.stay());
      await reading.shows('ready\n');
      await t.adapter.restoreCheckpoint(handle, id);
      await expectNoSuccess(t, reading);
    },
  },
  {
    id: 'CHK-005',
    title: 'has no checkpoint of a sandbox that is missing',
    level: 'MUST',
    promise: 'not-found',
    needs: ['checkpoint'],
    async run(t) {
      const missing = t.adapter.buildHandle(t.newName());
      await expectRejection('createCheckpoint', t.adapter.createCheckpoint(missing), NOT_FOUND);
      await expectRejection('restoreCheckpoint', t.adapter.restoreCheckpoint(missing, 'v1'), NOT_FOUND);
    },
  },
  {
    id: 'CHK-007',
    title: 'restores no checkpoint of another sandbox',
    level: 'MUST',
    promise: 'checkpoints',
    needs: ['checkpoint'],
    async run(t) {
      const [handle, other] = [await t.sandbox(), await t.sandbox()];
      await t.adapter.writeFile(handle, 'file', 'kept');
      await t.adapter.writeFile(other, 'file', 'of the other');
      const { id } = await t.adapter.createCheckpoint(other);
      const call = t.adapter.restoreCheckpoint(handle, id);
      await expectRejection('restoreCheckpoint', call, { code: ['not_found', 'invalid', 'restore_failed'] });
      await expectFile(t, handle, 'file', 'kept');
    },
  },
];
