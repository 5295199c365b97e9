import type { SandboxErrorCode } from './error-codes.js';

/** What is true of a detail. */
export interface SandboxErrorDetailTraits {
  /** The codes that it is a case of; none: of any. */
  readonly codes: readonly SandboxErrorCode[];
  readonly meaning: string;
}

/**
 * The closed union of `SandboxError.detail`: which case of its `code` an error is. Like codes, details are API:
 * messages may improve, these stay.
 */
export const SANDBOX_ERROR_DETAIL_TRAITS = {
  // arguments and routing
  argument: { codes: ['invalid'], meaning: 'An argument is malformed; the message says which, and what was expected.' },
  unknown_provider: { codes: ['invalid'], meaning: 'No adapter is configured under that tag.' },
  not_a_runner_sandbox_name: { codes: ['invalid'], meaning: 'The name carries no runner id.' },
  argument_list_too_long: {
    codes: ['invalid'],
    meaning: 'Arguments and environment together are more than the machine takes.',
  },
  no_such_directory: { codes: ['invalid'], meaning: 'The working directory does not exist; nothing ran.' },
  path_outside_sandbox: { codes: ['invalid'], meaning: 'The path leads out of the sandbox, perhaps over a link.' },
  offset_beyond_end: { codes: ['invalid'], meaning: 'The session has not printed so much.' },
  request_too_large: { codes: ['invalid'], meaning: 'The request is larger than one frame or request may be.' },
  // the command stream
  already_consumed: { codes: ['invalid'], meaning: 'The output of a command has one reader, and has it already.' },
  detached: { codes: ['unavailable'], meaning: 'This end let go of the command: `stop()`, or a reader that left.' },
  closed_before_exit: { codes: ['unavailable'], meaning: 'The output ended and no exit came: it is not known.' },
  stream_gap: { codes: ['provider'], meaning: 'Bytes of the output are missing, so no more are delivered.' },
  slow_consumer: {
    codes: ['unavailable'],
    meaning: 'The reader took too long, and the daemon has no way to wait for it or to repeat.',
  },
  replay_evicted: { codes: ['truncated'], meaning: 'The output from there on is no longer kept.' },
  // stdin
  stdin_closed: { codes: ['invalid'], meaning: 'stdin was closed before the write.' },
  stdin_not_open: { codes: ['invalid'], meaning: 'stdin was not opened, or a newer attach owns it.' },
  // deadlines and limits
  timeout: {
    codes: ['unavailable'],
    meaning: 'The command ran longer than `timeoutMs`; effect `done` once it was seen to be gone.',
  },
  output_limit: { codes: ['truncated'], meaning: 'The command printed more than `maxOutputBytes` and was stopped.' },
  in_flight_limit: { codes: ['unavailable'], meaning: 'Too many requests of this runner wait for a reply.' },
  session_limit: { codes: ['unavailable'], meaning: 'Too many sessions of this runner, here or there.' },
  // the way to the machine
  runner_offline: { codes: ['unavailable'], meaning: 'The runner is not connected.' },
  runner_disconnected: { codes: ['unavailable'], meaning: 'The connection to the runner ended.' },
  runner_timeout: { codes: ['unavailable'], meaning: 'The runner did not answer in time.' },
  draining: {
    codes: ['unavailable'],
    meaning: 'The platform, or the daemon, is shutting down and takes no new calls.',
  },
  // what the machine answered
  malformed_reply: { codes: ['provider'], meaning: 'The reply does not have the form that it must have.' },
  malformed_frame: { codes: ['provider'], meaning: 'A frame of the output does not have the form that it must have.' },
  remote: { codes: [], meaning: 'The far end said more in words of its own; they are in the message.' },
  session_lost: { codes: ['unavailable'], meaning: 'The daemon lost track of the process, so its exit is not known.' },
  journal_failed: { codes: ['unavailable'], meaning: 'The output could not be kept, or what was kept not be read.' },
  disk_full: { codes: ['unavailable', 'write_failed'], meaning: 'The disk of the machine is full.' },
} as const satisfies Record<string, SandboxErrorDetailTraits>;

/** One of {@link SANDBOX_ERROR_DETAILS}. */
export type SandboxErrorDetail = keyof typeof SANDBOX_ERROR_DETAIL_TRAITS;

/** Every detail a `SandboxError` can have. */
export const SANDBOX_ERROR_DETAILS = Object.freeze(
  Object.keys(SANDBOX_ERROR_DETAIL_TRAITS),
) as readonly SandboxErrorDetail[];
