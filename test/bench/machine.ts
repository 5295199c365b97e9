import { createRequire } from 'node:module';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';

/** What the figures depend on. */
export interface Machine {
  readonly platform: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  /** Processes that wanted to run, over the last minute, before the first benchmark. */
  readonly load: number;
  readonly node: string;
  /** Whether `ws` masks and unmasks natively; the same on both sides. `WS_NO_BUFFER_UTIL=1` turns it off. */
  readonly bufferutil: boolean;
}

export function machine(): Machine {
  return {
    platform: `${process.platform} ${process.arch}`,
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    load: loadavg()[0] ?? 0,
    node: process.version,
    bufferutil: hasBufferUtil(),
  };
}

function hasBufferUtil(): boolean {
  if (process.env['WS_NO_BUFFER_UTIL']) return false;
  try {
    createRequire(import.meta.url)('bufferutil');
    return true;
  } catch {
    return false;
  }
}
