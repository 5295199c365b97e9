import { inspect } from 'node:util';
import type { ExecResult, Exit } from './frames.js';

/** What an {@link ExecResult} is made of. */
export interface ExecResultInit extends Exit {
  readonly output: Uint8Array;
  /** Left out where the provider did not give it apart. */
  readonly stderr?: Uint8Array;
}

/** The result of an exec, which shows in logs how much was written and not what. */
export function execResult({ output, stderr, exitCode, signal, startError }: ExecResultInit): ExecResult {
  const exit: Exit = {
    exitCode,
    ...(signal !== undefined && { signal }),
    ...(startError !== undefined && { startError }),
  };
  const result: ExecResult = {
    ...exit,
    output,
    ...(stderr !== undefined && { stderr }),
    text: () => Buffer.from(output.buffer, output.byteOffset, output.byteLength).toString('utf8'),
  };
  return Object.defineProperty(result, inspect.custom, {
    value: () => ({ ...exit, outputBytes: output.byteLength, ...(stderr && { stderrBytes: stderr.byteLength }) }),
  });
}
