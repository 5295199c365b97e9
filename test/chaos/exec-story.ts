import { readFile } from 'node:fs/promises';
import { SandboxError, type ExecOptions } from 'nestjs-sandbox';
import { isUnreachable } from './caller.js';
import { bytesAt } from './lines.js';
import { isRunning } from './process-state.js';
import { echoing, printed, printing, sleeping, type Printing } from './programs.js';
import type { Telling } from './teller.js';

const EXECS = 6;

/** Short commands, one after the other: each result is known. */
export async function tellExecs(telling: Telling): Promise<void> {
  const { random } = telling;
  for (let left = EXECS; left > 0; left--) {
    await (random.chance(0.3) ? execEcho(telling) : execPrinting(telling)).catch(unlessUnreachable);
  }
}

async function execPrinting({ story, sandboxes, handle, caller, random, signal }: Telling): Promise<void> {
  const how: Printing = {
    steps: 1,
    linesPerStep: random.chance(0.2) ? random.int(2_000, 20_000) : random.int(0, 200),
    linesPerStderr: random.int(1, 20),
    pauseSeconds: random.chance(0.5) ? 0 : Number(random.between(0.05, 0.6).toFixed(2)),
    exitCode: random.int(0, 99),
  };
  const result = await caller.once('exec', (mark) => {
    const { cmd, args } = printing(mark, story.content, how);
    return sandboxes.exec(handle, cmd, args, { signal });
  });
  const { stdout, stderr } = printed(how);
  expectSame(caller.lie.bind(caller), result, {
    exitCode: how.exitCode,
    output: bytesAt(story.content, 'stdout', 0, stdout),
    stderr: bytesAt(story.content, 'stderr', 0, stderr),
  });
}

async function execEcho({ story, sandboxes, handle, caller, random, signal }: Telling): Promise<void> {
  const stdin = bytesAt(story.content, 'stdout', 0, random.int(0, 300_000));
  const exitCode = random.int(0, 99);
  const result = await caller.once('exec', (mark) => {
    const { cmd, args } = echoing(mark, exitCode);
    return sandboxes.exec(handle, cmd, args, { stdin, signal });
  });
  expectSame(caller.lie.bind(caller), result, { exitCode, output: stdin, stderr: Buffer.of() });
}

interface Result {
  readonly exitCode: number;
  readonly signal?: string;
  readonly output: Uint8Array;
  readonly stderr?: Uint8Array;
}

function expectSame(lie: (what: string) => void, got: Result, truth: Required<Omit<Result, 'signal'>>): void {
  if (got.exitCode !== truth.exitCode || got.signal !== undefined) {
    lie(`exec answered ${got.signal ?? got.exitCode} where the command exits ${truth.exitCode}`);
  }
  for (const stream of ['output', 'stderr'] as const) {
    const [here, there] = [got[stream]?.length, truth[stream].length];
    if (!truth[stream].length === !here && Buffer.compare(got[stream] ?? Buffer.of(), truth[stream]) === 0) continue;
    lie(`exec answered other ${stream} (${here} bytes) than the command wrote (${there} bytes)`);
  }
}

/**
 * Runs into its deadline or its output limit, or is aborted; where the error says that the command was stopped, it must
 * be gone.
 */
export async function tellLimit(telling: Telling): Promise<void> {
  const { story, sandboxes, handle, caller, random, signal } = telling;
  const afterMs = random.int(100, 3_000);
  const limit = random.pick({ time: 1, output: 1, abort: 1 });
  const options: Record<typeof limit, ExecOptions> = {
    time: { signal, timeoutMs: afterMs },
    output: { signal, maxOutputBytes: 10_000 },
    // Nothing else ends this one, unless its link does.
    abort: { signal: AbortSignal.timeout(afterMs) },
  };
  try {
    await caller.once('exec', (mark) => {
      const { cmd, args } =
        limit === 'output' ? printing(mark, story.content, { ...story.printing, steps: 100_000 }) : sleeping(mark);
      return sandboxes.exec(handle, cmd, args, options[limit]);
    });
    caller.lie('an exec beyond its limit had a result');
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    const pid = Number(await readFile(caller.lastMark, 'utf8').catch(() => Number.NaN));
    if (error.effect === 'done' && pid > 0 && (await isRunning(pid))) {
      caller.lie(`${error.detail}: effect done, and the command runs on`);
    }
  }
}

function unlessUnreachable(error: unknown): void {
  if (!isUnreachable(error)) throw error;
}
