/**
 * The closed union of `SandboxError.detail`: which case of its `code` an error is. Like codes, details are API:
 * messages may improve, these stay.
 */
export const SANDBOX_ERROR_DETAILS = [
  // arguments and routing
  'argument',
  'unknown_provider',
  'not_a_runner_sandbox_name',
  'argument_list_too_long',
  'no_such_directory',
  'path_outside_sandbox',
  'offset_beyond_end',
  'request_too_large',
  // the command stream
  'already_consumed',
  'detached',
  'closed_before_exit',
  'stream_gap',
  'slow_consumer',
  'replay_evicted',
  // stdin
  'stdin_closed',
  'stdin_not_open',
  // deadlines and limits
  'timeout',
  'output_limit',
  'in_flight_limit',
  'session_limit',
  // the way to the machine
  'runner_offline',
  'runner_disconnected',
  'runner_timeout',
  'draining',
  // what the machine answered
  'malformed_reply',
  'malformed_frame',
  'remote',
  'session_lost',
  'journal_failed',
  'disk_full',
] as const;

/** One of {@link SANDBOX_ERROR_DETAILS}. */
export type SandboxErrorDetail = (typeof SANDBOX_ERROR_DETAILS)[number];
