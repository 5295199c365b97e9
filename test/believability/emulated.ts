import { existsSync } from 'node:fs';
import { DIRECTORY_MARKER, processTable } from '#libs/process';
import type { Check, Subject } from './check.js';

/** The subject of some checks: they run over an emulator, one sandbox of which lies in `directory`. */
export function emulated(emulator: { close(): Promise<void> }, directory: string, checks: readonly Check[]): Subject {
  return {
    checks,
    close: () => emulator.close(),
    remains: async () => [
      ...(await processTable())
        .filter(({ directoryMarker, zombie }) => directoryMarker === directory && !zombie)
        .map(({ pid }) => `process ${pid} (${DIRECTORY_MARKER})`),
      ...(existsSync(directory) ? [directory] : []),
    ],
  };
}
