import type { SandboxError } from '#libs/contract';
import type { Deadline } from './deadline.js';
import { JournalParser, type JournalRecord } from './journal-parser.js';
import type { ReadFrom } from './shim.js';

/** Where the output of a program goes. Nothing comes after `closed`, which is called once, unless it was let go. */
export interface ShSink {
  output(data: Uint8Array): void;
  /** Its output has ended, or the way to it was lost. */
  closed(error: SandboxError): void;
}

/** A program for `sh` that runs in a sandbox. */
export interface ShProcess {
  /** The provider's id of it. */
  readonly pid: string;
  /** To its stdin, after what was written before. */
  write(data: Uint8Array): Promise<void>;
  closeStdin(): Promise<void>;
  /** Lets go of it; the provider ends it where it was not made to live on. Any number of times. */
  close(): void;
}

/** Starts a program that reads a journal: how a provider gives one. `from` is what the program was made of. */
export type OpenReader = (program: string, sink: ShSink, deadline: Deadline, from: ReadFrom) => Promise<ShProcess>;

/** As {@link ShSink}, in records. */
export interface RecordSink {
  record(record: JournalRecord): void;
  closed(error: SandboxError): void;
}

/** Parses what a program of the shim prints. What is malformed closes it. */
export function parsed(sink: RecordSink): ShSink {
  const parser = new JournalParser((record) => sink.record(record));
  let closed = false;
  const close = (error: SandboxError): void => {
    if (closed) return;
    closed = true;
    sink.closed(error);
  };
  return {
    output: (data) => {
      if (closed) return;
      try {
        parser.push(data);
      } catch (error) {
        close(error as SandboxError);
      }
    },
    closed: close,
  };
}
