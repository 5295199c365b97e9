import type { SubjectOf } from './check.js';
import { runChecks } from './check.js';
import { PROVIDERS } from './providers.js';

const SUBJECTS: Readonly<Record<keyof typeof PROVIDERS, () => Promise<{ readonly subject: SubjectOf }>>> = {
  daytona: async () => await import('./daytona.js'),
  e2b: async () => await import('./e2b.js'),
  sprites: async () => await import('./sprites.js'),
};

/** `main.js <provider> <directory with its packages>` */
const [provider = '', modules = ''] = process.argv.slice(2);
const { subject } = await SUBJECTS[provider as keyof typeof PROVIDERS]();
const passed = await runChecks(await subject(modules), (line) => process.stdout.write(`${line}\n`));
process.exitCode = passed ? 0 : 1;
