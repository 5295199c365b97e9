import { setTimeout as sleep } from 'node:timers/promises';
import { CLOSE_SETTLE_MS } from './bounds.js';

/** What keeps this process alive. Node opens stdout and stderr when they are first asked for: that is no leak. */
export function resources(): string[] {
  void process.stdout;
  void process.stderr;
  return process.getActiveResourcesInfo().toSorted();
}

/** What is there beyond `before` after it had time to go, by its kinds. */
export async function leftOver(before: readonly string[]): Promise<string[]> {
  for (const until = Date.now() + CLOSE_SETTLE_MS; ;) {
    const left = beyond(before, resources());
    if (left.length === 0 || Date.now() > until) return left;
    // Not itself one of those that are counted.
    await new Promise((resolve) => setTimeout(resolve, 20).unref());
    await sleep(0);
  }
}

/** What of `there` is not in `before`, each as often as it is more. */
export function beyond(before: readonly string[], there: readonly string[]): string[] {
  const left = [...before];
  return there.filter((kind) => {
    const at = left.indexOf(kind);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
}
