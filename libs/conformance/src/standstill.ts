import type { OutputFrame, SandboxCommand, StreamOffsets } from '#libs/contract';
import type { CaseContext } from './case-context.js';
import { expectThat } from './expect.js';
import type { Reading } from './reading.js';
import { expectPattern } from './samples.js';

/** The most that may come for a reader that takes nothing. */
const MOST_BYTES = 16 * 1024 * 1024;
/** So many looks in a row that see no more output mean that it stands still. */
const LOOKS = 15;

/** Reads what `lines` writes and keeps none of it. @param held no more is taken until then */
export function readPattern(
  t: CaseContext,
  command: SandboxCommand,
  { from = {}, held }: { readonly from?: Partial<StreamOffsets>; readonly held?: Promise<void> } = {},
): Reading {
  const onFrame = ({ offset, data }: OutputFrame): Promise<void> | undefined => {
    expectPattern(data, offset);
    return held;
  };
  return t.read(command, { from, keep: false, onFrame });
}

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
