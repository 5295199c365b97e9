import type { CaseContext } from './case-context.js';
import { expectEqual } from './expect.js';

const KINDS = ['uncaughtException', 'unhandledRejection'] as const;

/** Runs it, and some turns more. @throws {Mismatch} if the process was told of an error that nobody caught */
export async function expectNothingUncaught(t: CaseContext, run: () => Promise<void>): Promise<void> {
  const uncaught: unknown[] = [];
  const listen = (error: unknown): void => void uncaught.push(error);
  for (const kind of KINDS) {
    process.on(kind, listen);
    t.defer(() => process.off(kind, listen));
  }
  await run();
  // Node tells of it before it goes on to the next turn.
  for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
  expectEqual('errors that nobody caught', uncaught, []);
}
