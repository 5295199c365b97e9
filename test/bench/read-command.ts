import type { SandboxHandle, SandboxService } from 'nestjs-sandbox';
import type { Pattern } from './pattern.js';

/** Spawns the pattern's program and checks every byte of its output; gives the milliseconds it took. */
export async function readCommand(
  sandboxes: SandboxService,
  handle: SandboxHandle,
  pattern: Pattern,
  times: number,
): Promise<number> {
  const { command, args, bytes } = pattern.printed(times);
  const reader = pattern.reader();
  const began = performance.now();
  const running = await sandboxes.spawn(handle, command, args);
  const { exitCode } = await running.forEach(({ data }) => reader.take(data));
  if (exitCode !== 0) throw new Error(`${command} exited with ${exitCode}`);
  reader.end(bytes);
  return performance.now() - began;
}
