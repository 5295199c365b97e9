import type { SandboxCommand } from '#libs/contract';
import type { CaseContext } from './case-context.js';
import { expectThat } from './expect.js';

/** The most that may come for a reader that takes nothing. */
const MOST_BYTES = 16 * 1024 * 1024;
/** So many looks in a row that see no more output mean that it stands still. */
const LOOKS = 15;

/** Waits until no more output comes. @returns how much has come; never more than `mostBytes` */
export async function standstill(t: CaseContext, command: SandboxCommand, mostBytes = MOST_BYTES): Promise<number> {
  let seen = -1;
  let looks = 0;
  await t.eventually('that the output stands still', () => {
    looks = seen > 0 && command.outputBytes === seen ? looks + 1 : 0;
    seen = command.outputBytes;
    return looks === LOOKS || seen > mostBytes || undefined;
  });
  expectThat('bytes that came while the reader took none', seen <= mostBytes, `at most ${mostBytes}`, seen);
  return seen;
}
