import type { EmulatedProcess, ProcessEvents, ProcessSpec } from '../kit/emulated-process.js';
import type { StartFailure } from '../kit/processes.js';
import type { SandboxDisk } from '../kit/sandbox-disk.js';
import type { CreateRequest } from './create-request.js';
import type { DaytonaSettings } from './options.js';

/** What a sandbox is to the processes in it. */
export interface Machine {
  readonly settings: DaytonaSettings;
  readonly request: Pick<CreateRequest, 'user' | 'env'>;
  readonly files: SandboxDisk;
  /** The shell of its daemon, on this machine. */
  readonly shell: string;
  /** Aborted when the emulator closes. */
  readonly closing: AbortSignal;
  /** Starts a process, unless the machine goes down meanwhile. @throws {SandboxDown} */
  run(spec: ProcessSpec, events: ProcessEvents): Promise<EmulatedProcess | StartFailure>;
}
