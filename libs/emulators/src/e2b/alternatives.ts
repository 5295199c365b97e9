import type { AlternativeTable, Choices } from '../kit/alternatives.js';

/**
 * What the service does where its documents, its sources and observations disagree or are silent, or where versions of
 * it in the field differ. The first value is the default: the one with the newest or the strongest witness.
 */
export const E2B_ALTERNATIVES = {
  /** Whether the first versions of create and connect, `/sandboxes` and `/sandboxes/{id}/connect`, still exist. */
  v1Paths: [true, false],
  /** Whether the second versions, `/v2/sandboxes` and `/v2/sandboxes/{id}/connect`, exist; old servers answer 404. */
  v2Paths: [true, false],
  /** Fields of a body that are not known: ignored, as the open server does it, or refused with 400. */
  unknownFields: ['ignored', 'refused'],
  /** How answers spell the id: `sandboxID`, or `sandboxId` as some old ones did. */
  idSpelling: ['sandboxID', 'sandboxId'],
  /** Whether a sandbox is listed as soon as its create was answered, or only after `listLagMs`. */
  listAfterCreate: ['at_once', 'late'],
  /** Of several connects of one paused sandbox at once: all join one start, or all but the first get 409. */
  concurrentConnect: ['joins', 'conflict'],
  /** Whether the old `/sandboxes/{id}/resume` does without a body. */
  resumeBody: ['optional', 'required'],
  /** Status of a network update while the sandbox changes its state. */
  networkInTransition: [409, 404],
  /** Status at the edge while the sandbox changes its state. */
  edgeInTransition: [409, 502],
  /**
   * What becomes of streams that are open at a pause: cut on both ends; `ghost`: the client's end stays open and silent,
   * and envd serves it on after the resume, so that the process blocks at its next output; `half_ghost`: the client's
   * end is cut, and envd serves it on all the same. A ghost ends after `ghostMs`.
   */
  pausedStreams: ['cut', 'ghost', 'half_ghost'],
  /** What a `Connect` to a process that a ghost blocks gets: no answer, or `start` and then nothing. */
  ghostConnect: ['no_answer', 'start_only'],
  /**
   * How a tag is looked up. `random`: in arbitrary order up to the first that differs, so that it fails at random once two
   * processes have different tags; `fails`: the same at its worst, always; `exact`: as one would expect.
   */
  tagLookup: ['random', 'fails', 'exact'],
  /** Whether an exit is remembered for 30 s, so that a `Connect` gets `start` and `end`. */
  exitMemory: [false, true],
  /** Status of input for a stdin that is closed: 500 `internal` or 400 `failed_precondition`. */
  closedStdin: ['internal', 'failed_precondition'],
  /** Output that was not yet read when a process that got a `SendSignal` ended: delivered, or lost. */
  outputAfterSignal: ['delivered', 'lost'],
  /** Whether an `end` comes before the `deadline_exceeded` that `Connect-Timeout-Ms` brings. */
  endAfterTimeout: [false, true],
  /** `Connect-Timeout-Ms: 0`: the stream ends at once with `deadline_exceeded` while the process runs on, or no limit. */
  zeroTimeout: ['ends_stream', 'ignored'],
  /** `Keepalive-Ping-Interval` of 0 or less: breaks the connection, or is taken for the default. */
  zeroKeepalive: ['breaks', 'ignored'],
  /** The first output of a terminal: kept, or lost because it came before the stream was there. */
  terminalStart: ['kept', 'lost'],
  /** Zero values in the answers of envd: left out, as protobuf JSON has it, or written. */
  zeroValues: ['omitted', 'written'],
  /** What an envd that is too old for a method answers. */
  missingMethod: ['unimplemented', 'not_found'],
  /** Whether a download is compressed for a client that takes gzip. */
  downloadGzip: [true, false],
} as const satisfies AlternativeTable;

/** One value for each switch of {@link E2B_ALTERNATIVES}. */
export type E2bAlternatives = Choices<typeof E2B_ALTERNATIVES>;
