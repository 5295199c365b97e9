import { journalFailed, malformedWord, noSuchDirectory } from './journal-errors.js';

const NUMBER = /^\d{1,16}$/;

/** What a shim says before the command runs. @throws {SandboxError} that it does not */
export function checkFirstWord([word, pid, start]: readonly string[]): {
  readonly pid: string;
  readonly startCode: number;
} {
  if (word === 'd') throw noSuchDirectory();
  if (word === 'j') throw journalFailed().with({ effect: 'none' });
  if (word !== 'r' || !NUMBER.test(pid ?? '') || !NUMBER.test(start ?? '')) throw malformedWord();
  return { pid: pid as string, startCode: Number(start) };
}
