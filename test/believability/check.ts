/** One thing that an unmodified SDK is expected to see of an emulator. Checks run in order and build on each other. */
export interface Check {
  readonly title: string;
  readonly run: () => Promise<void>;
}

/** An SDK against its emulator. */
export interface Subject {
  readonly checks: readonly Check[];
  /** Ends the emulator. */
  close(): Promise<void>;
  /** What is left of it after `close`, one line each. */
  remains(): Promise<readonly string[]>;
}

/** Makes a subject out of the packages that were installed in `modules`. */
export type SubjectOf = (modules: string) => Promise<Subject>;

const CHECK_MS = 60_000;

/** Runs all checks, one line each, and the close. @returns whether all were passed */
export async function runChecks(subject: Subject, print: (line: string) => void): Promise<boolean> {
  const failed: string[] = [];
  let count = 0;
  const step = async (title: string, act: () => Promise<void>) => {
    count += 1;
    try {
      await within(CHECK_MS, act());
      print(`ok    ${title}`);
    } catch (error) {
      failed.push(title);
      print(`FAIL  ${title}\n      ${String(error).replaceAll('\n', '\n      ')}`);
    }
  };
  for (const { title, run } of subject.checks) await step(title, run);
  await step('the emulator ends and leaves nothing', async () => {
    await subject.close();
    const left = await subject.remains();
    if (left.length > 0) throw new Error(`left: ${left.join(', ')}`);
  });
  print(`${count - failed.length} of ${count} checks passed`);
  return failed.length === 0;
}

async function within(ms: number, done: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`did not end within ${ms} ms`)), ms);
  });
  await Promise.race([done, late]).finally(() => clearTimeout(timer));
}
