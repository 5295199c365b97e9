import type { AlternativeTable, Choices } from '../kit/alternatives.js';

const KIB = 1024;

/**
 * What the service does where its documents, its clients and observations disagree or are silent. The first value is
 * the default: the one with the newest or the strongest witness.
 */
export const SPRITES_ALTERNATIVES = {
  /** Status of a create whose name is taken. */
  duplicateName: [409, 400],
  /** Status of a create. */
  createStatus: [201, 200],
  /** Body of a create: the resource, or what old versions sent. */
  createBody: ['resource', 'name_only'],
  /** Status of a sprite that was just made. */
  initialStatus: ['cold', 'running'],
  /** How ids look: `sprite-<uuid>` or `<uuid>`. */
  spriteId: ['prefixed', 'uuid'],
  /** Names of the two optional times: `last_running_at` and `last_warming_at`, or `last_started_at` and `last_active_at`. */
  timeNames: ['running', 'started'],
  /** Entries of the listing: whole resources, or `{name, org_slug, updated_at}`. */
  listEntries: ['resource', 'minimal'],
  /** Status of a delete. */
  deleteStatus: [204, 200, 202],
  /** Type of a session's id. */
  sessionId: ['string', 'number'],
  /** The list of sessions: `{count, sessions}` or a bare array. */
  sessionList: ['wrapper', 'array'],
  /** `created` in `session_info`: Unix seconds or ISO 8601. */
  sessionCreated: ['unix', 'iso'],
  /** `cols` and `rows` in `session_info`: 0, or those of the terminal. */
  sessionSize: ['zero', 'real'],
  /** Whether a `debug` frame comes before `session_info`. */
  debugFrame: [false, true],
  /** Whether `env` takes the place of the default environment or is added to it. */
  env: ['replaces', 'adds'],
  /** A `dir` that is not there: the command runs in the home directory, or does not start. */
  missingDirectory: ['ignored', 'fails'],
  /** A program that cannot be started: an `error` frame and an exit, or HTTP 400 in the place of the handshake. */
  startFailure: ['error_frame', 'http_400'],
  /** Output from before the client was attached: all but the last 16 KiB is lost, or the process waits. */
  earlyOutput: ['lost', 'kept'],
  /** Where stderr is delivered. */
  stderrStream: ['own', 'stdout'],
  /** When the text `exit` comes: after all output, or as soon as the process was reaped. */
  textExit: ['after_output', 'at_exit'],
  /** Whether the handshake says `X-Sprite-Capabilities: signal`, and such frames are obeyed. */
  signalCapability: [true, false],
  /** Bytes that an attach replays. */
  replayBytes: [16 * KIB, 64 * KIB],
  /** Whether replayed stderr comes on its own stream. */
  replayedStderr: ['own', 'stdout'],
  /** What a terminal's attach replays: raw bytes, or the text without its control sequences. */
  terminalReplay: ['raw', 'text'],
  /** Whether `/exec/{id}` attaches; old runtimes answer 404 and know only `/exec?id=`. */
  attachByPath: [true, false],
  /** Whether `detachable` alone lets a command without a terminal live on after a disconnect. */
  detachableAlone: ['unlimited', 'ten_seconds'],
  /** What becomes of a client that stops reading: its process waits, or it is dropped after `stalledMs`. */
  slowClient: ['blocks', 'dropped'],
  /** Status of a kill whose session has ended. */
  killAfterExit: [410, 404],
  /** `exit_code` of a kill that needed no escalation: the real one, or 0. */
  killExitCode: ['real', 'zero'],
  /** Whether a kill heeds a JSON body. */
  killBody: ['ignored', 'heeded'],
  /** Whether a write makes missing parent directories without being asked to. */
  parentDirectories: ['always', 'on_request'],
  /** Whether `fs/read` heeds `Range`. */
  range: [true, false],
  /** Status of a policy that was taken. */
  policyStatus: [204, 200],
  /** Where the cap on running sprites is felt: on every call that wakes one, or only on create. */
  runningLimit: ['on_wake', 'on_create'],
  /** Status of the delete of a checkpoint. */
  checkpointDeleteStatus: [204, 200],
  /** Whether a restore keeps a copy of what it replaces. */
  restoreBackup: [false, true],
} as const satisfies AlternativeTable;

/** One value for each switch of {@link SPRITES_ALTERNATIVES}. */
export type SpritesAlternatives = Choices<typeof SPRITES_ALTERNATIVES>;
