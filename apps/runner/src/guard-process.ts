import type { Daemon } from './daemon.js';
import { EXIT } from './exit-codes.js';
import type { Log } from './log.js';
import { watchParent } from './parent-watch.js';

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** For the kill before an exit that must not wait. */
const KILL_MS = 1_000;
const FRAMES = 4;

/**
 * Ties the process to its daemon: the first signal stops it, a second one kills what runs and exits 1, and so does
 * an error that nobody caught. With `exitWithParent` the end of stdin stops it too. The returned function unties them.
 */
export function guardProcess(
  daemon: Pick<Daemon, 'stop' | 'kill'>,
  log: Log,
  { exitWithParent }: { readonly exitWithParent: boolean },
): () => void {
  let signals = 0;
  let dying = false;
  const die = (): void => {
    if (dying) return;
    dying = true;
    const exit = (): never => process.exit(EXIT.failed);
    setTimeout(exit, KILL_MS);
    void daemon.kill().then(exit, exit);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    log.info(signals === 0 ? 'stopping' : 'stopping at once', { signal });
    if (signals++ === 0) daemon.stop();
    else die();
  };
  const onError = (error: unknown): void => {
    log.error('an error that nobody caught', describe(error));
    die();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  process.on('uncaughtException', onError);
  process.on('unhandledRejection', onError);
  const unwatch = exitWithParent
    ? watchParent(() => {
        log.info('stopping: stdin has ended');
        daemon.stop();
      })
    : undefined;
  return () => {
    unwatch?.();
    for (const signal of SIGNALS) process.off(signal, onSignal);
    process.off('uncaughtException', onError);
    process.off('unhandledRejection', onError);
  };
}

/** Where it happened, without its message: that may hold anything. */
function describe(error: unknown): Record<string, string> {
  if (!(error instanceof Error)) return { error: typeof error };
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  const { code } = error as NodeJS.ErrnoException;
  return {
    error: error.name,
    ...(code !== undefined && { code }),
    at: frames
      .slice(0, FRAMES)
      .map((line) => line.trim().slice('at '.length))
      .join(' < '),
  };
}
