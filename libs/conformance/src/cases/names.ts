import { SandboxError, type SandboxHandle } from '#libs/contract';
import type { CaseContext } from '../case-context.js';
import type { ConformanceCase } from '../conformance-case.js';
import { expectUsable } from '../errands.js';
import { expectEqual, expectRejection } from '../expect.js';
import { expectListed, startSession } from '../session.js';

import { supports } from './every-operation.js';

const NOT_FOUND = { code: 'not_found', effect: 'none' } as const;

/** What is told by names, and in lists. */
export const nameCases: readonly ConformanceCase[] = [
  {
    id: 'LIF-013',
    title: 'takes no sandbox for another whose name only begins with its own',
    level: 'MUST',
    promise: 'not-found',
    async run(t) {
      const name = t.newName();
      const longer = await createdLonger(t, name);
      if (longer === undefined) return;
      const handle = t.adapter.buildHandle(name);
      await expectRejection('get', t.adapter.get(handle), NOT_FOUND);
      await expectRejection('exec', t.exec(handle, t.words.print({})), NOT_FOUND);
      expectEqual('whether it is listed', (await t.adapter.listAllNames()).includes(name), false);
      await t.adapter.destroy(handle);
      await expectUsable(t, longer);
      await t.adapter.create(name);
      await t.adapter.destroy(handle);
      await expectUsable(t, longer);
    },
  },
  {
    id: 'LIF-015',
    title: 'takes a name as it is: the same in capitals is that of another, or is refused',
    level: 'MUST',
    promise: 'not-found',
    async run(t) {
      const handle = await t.sandbox();
      const inCapitals = handleOf(t, handle.name.toUpperCase());
      if (inCapitals === undefined || inCapitals.name === handle.name) return;
      await expectRejection('get', t.adapter.get(inCapitals), NOT_FOUND);
      await t.adapter.destroy(inCapitals);
      await expectUsable(t, handle);
    },
  },
  {
    id: 'LST-003',
    title: 'gives lists that are the caller’s own',
    level: 'SHOULD',
    promise: 'listing',
    async run(t) {
      const handle = await t.sandbox();
      (await t.adapter.listAllNames()).length = 0;
      expectEqual('whether it is listed again', (await t.adapter.listAllNames()).includes(handle.name), true);
      if (supports(t, 'attach')) {
        const { id } = await startSession(t, handle, t.words.stay());
        (await t.adapter.listSessions(handle)).length = 0;
        await expectListed(t, handle, [id]);
      }
      if (supports(t, 'files')) {
        await t.adapter.writeFile(handle, 'directory/file', '');
        (await t.adapter.listFiles(handle, 'directory')).length = 0;
        expectEqual('files', (await t.adapter.listFiles(handle, 'directory')).length, 1);
      }
    },
  },
];

/** A sandbox whose name begins with `name`; none where names cannot be longer. */
async function createdLonger(t: CaseContext, name: string): Promise<SandboxHandle | undefined> {
  const longer = handleOf(t, `${name}0`);
  if (longer === undefined) return undefined;
  t.defer(() => t.subject.adapter.destroy(longer));
  return t.adapter.create(longer.name);
}

/** Of what no sandbox can be called, none. */
function handleOf(t: CaseContext, name: string): SandboxHandle | undefined {
  try {
    return t.adapter.buildHandle(name);
  } catch (error) {
    if (error instanceof SandboxError && error.code === 'invalid') return undefined;
    throw error;
  }
}
