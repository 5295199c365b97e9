// `npm start`: the set-up, then the platform in this very process, so that stdin, stdout and signals are its own.
import { afterSetUp } from './setup.mjs';

await afterSetUp(async () => {
  const { start } = await import('../dist/apps/platform/src/start.js');
  return start(process.argv.slice(2));
});
