/** What the contract promises, one sentence each. Cases name the promise that they hold; ids are permanent. */
export const PROMISES = {
  handles: 'A handle is a small frozen value that survives JSON and is built without I/O.',
  capabilities: 'A capability is a promise about the answer; without it a call is refused before any effect.',
  errors: 'Every rejection is a SandboxError with code, operation, provider and a true effect; nothing throws.',
  create: 'create is idempotent and adopts; createNew never does, and its handle names the incarnation.',
  'not-found': 'not_found is said only where the provider is definite, never for what could not be told.',
  destroy: 'destroy is tolerant of what is gone, and definite: afterwards nothing of the sandbox is left.',
  listing: 'listAllNames gives the whole view or an error, never a part.',
  'suspend-resume': 'suspend and resume keep the disk, are total, and what happens to sessions is declared.',
  exec: 'exec gives what was measured: a non-zero exit is a result, and output is whole or the call fails.',
  processes: 'A command gets exactly the arguments, variables and directory that were given.',
  frames: 'Output has exactly one end, an exit or an error, after all of its bytes, in the order of each stream.',
  bytes: 'Bytes arrive as they were written, whatever they are and however many.',
  'back-pressure': 'A slow reader slows its command and nothing else; nothing is dropped and nothing grows.',
  stdin: 'stdin keeps its order and its end, and is total: it never hangs and never throws.',
  detach: 'stop and unsubscribe let go of this end only.',
  sessions: 'Detachable sessions live on, are listed, and belong to one sandbox.',
  replay: 'attach replays from the beginning or the given offsets, then goes on: no byte lost, none twice.',
  terminate: 'terminateSession resolves only once the process is gone, and touches nothing else.',
  deadlines: 'A deadline, a limit and an abort end the call in time and say what is known of the effect.',
  policy: 'A network policy that was accepted is in force; an empty one denies everything.',
  'public-url': 'A public URL is one that a browser can open.',
  checkpoints: 'A checkpoint is what the provider lists, and a failed restore is told.',
  files: 'Files keep their bytes and modes; what is missing or in the way is told apart.',
  faults: 'A fault of the way there never becomes an outcome of the command.',
} as const;

/** One of {@link PROMISES}. */
export type PromiseId = keyof typeof PROMISES;
