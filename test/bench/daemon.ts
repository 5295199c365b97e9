import { distFile } from '../support/dist.js';
import { tempDir } from '../support/temp-dir.js';
import type { BenchmarkContext } from './benchmark.js';
import { Program } from './program.js';

/** The real daemon with a root of its own. */
export async function startDaemon(
  context: BenchmarkContext,
  url: string,
  token: string,
  nice: boolean,
): Promise<Program> {
  const root = await tempDir('bench-root');
  context.defer('Removing a root', () => root.remove());
  const noBufferUtil = process.env['WS_NO_BUFFER_UTIL'];
  return Program.start(context, distFile('apps/runner/src/main.js'), {
    nice,
    env: {
      PATH: process.env['PATH'],
      HOME: root.path,
      SANDBOX_RUNNER_URL: url,
      SANDBOX_RUNNER_TOKEN: token,
      SANDBOX_RUNNER_ROOT: root.path,
      SANDBOX_RUNNER_NAME: 'bench',
      SANDBOX_RUNNER_LOG_LEVEL: 'error',
      ...(noBufferUtil !== undefined && { WS_NO_BUFFER_UTIL: noBufferUtil }),
    },
  });
}
