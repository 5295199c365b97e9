import type { SandboxAdapter, SandboxHandle } from 'nestjs-sandbox';
import type { Call, CallLog } from 'nestjs-sandbox/emulators';

/** How to reach an emulator. */
export interface Access {
  /** The base URL of its API. */
  readonly url: string;
  /** What it lets in: a token or an API key. */
  readonly key: string;
}

/** An emulator as its own process has it. */
export interface Emulated extends Access {
  readonly calls: CallLog;
  close(): Promise<void>;
}

/** One command for a client that is written by hand. */
export interface CommandByHand {
  /** Whose calls are made: an exec keeps no journal, and nobody can attach to it. */
  readonly as: 'exec' | 'spawn';
  readonly cmd: string;
  readonly args: readonly string[];
  /** Called for each piece of output; throws when it is not the right one. */
  readonly take: (data: Uint8Array) => void;
}

/** Runs a command to its end and gives its exit code. */
export type RunByHand = (command: CommandByHand) => Promise<number>;

/**
 * One row of the table of hosted providers. The client by hand shares the text of the shim with the adapter and no
 * other code: it makes the same calls with the same framing and credit, and does nothing beside that.
 */
export interface HostedProvider {
  /** Rows are called `<name>-exec` and `<name>-stream`. */
  readonly name: string;
  startEmulator(): Promise<Emulated>;
  adapter(access: Access): SandboxAdapter;
  /** For one sandbox. What it looks up beforehand the adapter has from creating it, so that it is not measured. */
  byHand(access: Access, handle: SandboxHandle): Promise<RunByHand>;
  /** Whether a call looks for output: how often that is done depends on when the output comes. @default none does */
  isPoll?(call: Call): boolean;
}
