import type { AlternativeTable, Choices } from '../kit/alternatives.js';

/**
 * What the service does where its documents, its source, its clients and observations disagree or are silent. The first
 * value is the default: the one with the newest or the strongest witness.
 */
export const DAYTONA_ALTERNATIVES = {
  /** The daemon in the sandbox: that of the current documents, or the last one whose source was published. */
  daemon: ['current', 'v0.190'],
  /** When a create answers and with which state: after its wait with the state from before, at once, or `started`. */
  createAnswer: ['creating_after_wait', 'creating_at_once', 'started'],
  /** When a start answers: after its wait, or at once. */
  startAnswer: ['after_wait', 'at_once'],
  /** Status where another transition is under way. */
  conflictStatus: [409, 400],
  /** Status of a create whose name is taken. */
  nameTaken: [409, 400],
  /** The name of a sandbox that is being destroyed: free at once, or taken until it is gone. */
  nameAfterDelete: ['free', 'taken'],
  /** Status of a second delete while the first is under way. */
  secondDelete: [409, 404],
  /** What the listing tells after a delete, within `indexDelayMs`: it lags, or the sandbox goes, comes back and goes. */
  listAfterDelete: ['lags', 'flaps'],
  /** What is inside a cursor: an object with the last sort value and id, or the array of sort keys. */
  cursor: ['object', 'array'],
  /** `nextCursor` of the last page. */
  lastCursor: [null, ''],
  /** `toolboxProxyUrl` of a sandbox: plain, with a slash at its end, or to be asked for on its own. */
  toolboxUrl: ['plain', 'trailing_slash', 'absent'],
  /** Whether bodies of errors have `code` and `source` too. */
  errorFields: ['plain', 'coded'],
  /** Name of the header that says when to come back after a 429: with the throttler at its end, or the standard one. */
  retryAfter: ['named', 'plain'],
  /** Whether the organization may change network settings. */
  networkSettings: ['allowed', 'refused_400', 'refused_403'],
  /** Network settings of a sandbox that does not run. */
  networkWhenStopped: ['taken', 'refused'],
  /** Whether the organization may resize; where not, the route is not there. */
  resize: ['on', 'off'],
  /** A snapshot that failed: found by its name, or only listed. */
  brokenSnapshot: ['by_name', 'listed'],
  /** Status of the toolbox of a sandbox that is gone. */
  toolboxWhenGone: [404, 401],
  /** Status of the toolbox of a sandbox that stops: an empty 502, or the 400 of a stopped one. */
  toolboxWhenStopping: [502, 400],
  /** Status of the toolbox of an archived sandbox. */
  toolboxWhenArchived: [404, 400],
  /** A session exec that fails: 500 around the cause, or the status of the cause. */
  execFailure: ['wrapped_500', 'typed'],
  /** Whether the exit code of a session's command is ever told. */
  exitCode: ['published', 'never'],
  /** Whether `X-Daytona-Split-Output` is heeded; where not, streams are merged. */
  splitOutput: ['heeded', 'ignored'],
  /** What a log socket that follows delivers: all, or a beginning and an orderly close. */
  logSocket: ['complete', 'prefix'],
  /** `?follow=true` over plain HTTP: both streams merged until the end, or the journal as it is. */
  logFollowOverHttp: ['merged_stream', 'journal'],
  /** The stdin of a session's command: no end of file ever, or one after each input. */
  inputEof: ['never', 'each_input'],
  /** An execute without `timeout`: no limit, or `executeDefaultMs`. */
  executeLimit: ['none', 'default'],
  /** Whether a download heeds `Range`. */
  range: [true, false],
} as const satisfies AlternativeTable;

/** One value for each switch of {@link DAYTONA_ALTERNATIVES}. */
export type DaytonaAlternatives = Choices<typeof DAYTONA_ALTERNATIVES>;
