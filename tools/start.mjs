// `npm start`: the set-up, then the platform in this very process, so that stdin, stdout and signals are its own.
// The script says `exec`: a shell between npm and us would die of a SIGTERM to npm and leave us behind.
import { afterSetUp } from './setup.mjs';

await afterSetUp(async () => {
  const { start } = await import('../dist/apps/platform/src/start.js');
  return start(process.argv.slice(2));
});
