import { choices } from '../kit/alternatives.js';
import { DAYTONA_ALTERNATIVES, type DaytonaAlternatives } from './alternatives.js';

export type Throttler = 'authenticated' | 'sandbox-create' | 'sandbox-lifecycle';

/** Calls allowed within a window. */
export interface Throttle {
  readonly count: number;
  readonly windowMs: number;
}

/** Milliseconds that the states on the way take; `Infinity` waits for `DaytonaEmulator.finish`. */
export interface DaytonaDelays {
  readonly build: number;
  readonly create: number;
  readonly start: number;
  readonly stop: number;
  readonly archive: number;
  readonly restore: number;
  readonly destroy: number;
  readonly snapshot: number;
  readonly resize: number;
  readonly removeSnapshot: number;
}

/** How the emulated service is set up. Every field may be left out. */
export interface DaytonaEmulatorOptions {
  /** The one API key that is accepted. @default 'dtn_emulator' */
  readonly token: string;
  /** @default '6f1d3c7e-0000-4000-8000-000000000001' */
  readonly organizationId: string;
  /** The shell of `execute`, of sessions and of terminals. @default zsh, else bash, else sh, as this machine has them */
  readonly shell: string;
  /** @default 20 each */
  readonly delaysMs: Partial<DaytonaDelays>;
  /** Milliseconds that a create or a start waits for its sandbox before it answers. @default 30 000 */
  readonly serverWaitMs: number;
  /** Milliseconds by which the listing lags behind. @default 0 */
  readonly indexDelayMs: number;
  /** Entries of a page of the listing, whatever more was asked for. @default 200 */
  readonly pageSize: number;
  /** Milliseconds of the minutes in which intervals are given. @default 60 000 */
  readonly minuteMs: number;
  /** Calls to the toolbox that find a 502 after each start. @default 0 */
  readonly bootRequests: number;
  /** Milliseconds between TERM and KILL when a sandbox is stopped; the service takes 10 000. @default 1 000 */
  readonly stopGraceMs: number;
  /** Milliseconds between TERM and KILL when a session is deleted. @default 5 000 */
  readonly sessionGraceMs: number;
  /** Milliseconds without output after which a log socket looks for the exit; the service takes 1 000. @default 60 */
  readonly logQuietMs: number;
  /** Bytes that a log socket delivers where it gives only a beginning. @default 1 024 */
  readonly logPrefixBytes: number;
  /** Milliseconds of an execute without `timeout`, where there is a default. @default 10 000 */
  readonly executeDefaultMs: number;
  /** Milliseconds for which a background process that keeps the output open holds the answer of an execute. @default 30 000 */
  readonly executeHoldMs: number;
  /** What the hosts of preview URLs end with. @default 'proxy.daytona.test' */
  readonly previewDomain: string;
  /** @default those of tier 1: 10 000 authenticated, 300 sandbox-create, 10 000 sandbox-lifecycle in 60 s */
  readonly limits: Partial<Record<Throttler, Throttle>>;
  /** See `DAYTONA_ALTERNATIVES`. */
  readonly alternatives: Partial<DaytonaAlternatives>;
}

export interface DaytonaSettings extends Omit<DaytonaEmulatorOptions, 'shell'> {
  readonly shell?: string;
  readonly delaysMs: DaytonaDelays;
  readonly alternatives: DaytonaAlternatives;
}

const DELAYS: DaytonaDelays = {
  build: 20,
  create: 20,
  start: 20,
  stop: 20,
  archive: 20,
  restore: 20,
  destroy: 20,
  snapshot: 20,
  resize: 20,
  removeSnapshot: 20,
};

const DEFAULTS: Omit<DaytonaEmulatorOptions, 'alternatives' | 'delaysMs' | 'shell'> = {
  token: 'dtn_emulator',
  organizationId: '6f1d3c7e-0000-4000-8000-000000000001',
  serverWaitMs: 30_000,
  indexDelayMs: 0,
  pageSize: 200,
  minuteMs: 60_000,
  bootRequests: 0,
  stopGraceMs: 1_000,
  sessionGraceMs: 5_000,
  logQuietMs: 60,
  logPrefixBytes: 1024,
  executeDefaultMs: 10_000,
  executeHoldMs: 30_000,
  previewDomain: 'proxy.daytona.test',
  limits: {},
};

export function settingsOf(options: Partial<DaytonaEmulatorOptions>): DaytonaSettings {
  return {
    ...DEFAULTS,
    ...options,
    delaysMs: { ...DELAYS, ...options.delaysMs },
    alternatives: choices(DAYTONA_ALTERNATIVES, options.alternatives),
  };
}
