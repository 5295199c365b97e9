import { tempDir } from '../support/temp-dir.js';
import type { Figure } from './benchmark.js';
import { Program } from './program.js';
import type { RowAnswer, RowQuestion } from './row-process.js';
import { Teardown } from './teardown.js';

const DEADLINE_MS = 15 * 60_000;

/** Runs one benchmark in a process of its own; an abort ends it with everything that it started. */
export async function runRow(question: RowQuestion, signal: AbortSignal): Promise<readonly Figure[]> {
  const teardown = new Teardown();
  const ended = AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]);
  const end = (): void => void teardown.run();
  ended.addEventListener('abort', end);
  try {
    const directory = await tempDir('bench');
    teardown.defer('Removing the temporary directory', () => directory.remove());
    const program = Program.start({ ...question, defer: teardown.defer.bind(teardown) }, './row-process.js', {
      env: { ...process.env, TMPDIR: directory.path },
    });
    const answer = await program.ask<RowAnswer>(question);
    if ('failed' in answer) throw new Error(answer.failed);
    return answer.figures;
  } finally {
    ended.removeEventListener('abort', end);
    await teardown.run();
  }
}
