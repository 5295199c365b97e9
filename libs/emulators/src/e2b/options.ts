import { choices } from '../kit/alternatives.js';
import { E2B_ALTERNATIVES, type E2bAlternatives } from './alternatives.js';

/** Milliseconds that changes of a sandbox's state take; all but a create wait at `Infinity` for `E2bEmulator.finish`. */
export interface E2bDelays {
  readonly create: number;
  readonly pause: number;
  readonly resume: number;
  readonly snapshot: number;
  readonly kill: number;
}

/** How the emulated service is set up. Every field may be left out. */
export interface E2bEmulatorOptions {
  /** The one key that is accepted. @default `e2b_` and 40 hexadecimal digits, all of them 0 */
  readonly apiKey: string;
  /** Templates that exist, by alias. @default ['base'] */
  readonly templates: readonly string[];
  /** What `domain` says in answers. @default absent from answers */
  readonly domain?: string;
  /** Version of envd in every sandbox; methods that a version does not have are refused. @default '0.6.10' */
  readonly envdVersion: string;
  /** Users that exist in a sandbox; commands of all of them run as the user of this process. @default ['user', 'root'] */
  readonly users: readonly string[];
  /** The template's own user, for calls that name none. @default 'user' */
  readonly defaultUser: string;
  /** Seconds that a sandbox may run without a pause. @default 86 400 */
  readonly maxLengthSeconds: number;
  /** Sandboxes that may run at once. @default none */
  readonly sandboxLimit?: number;
  /** What changes of state take. @default 0 each */
  readonly delayMs: Partial<E2bDelays>;
  /** Milliseconds until a new sandbox is listed, where that is late. @default 200 */
  readonly listLagMs: number;
  /** Milliseconds between the start of a process and its `start` event; production takes about 300. @default 0 */
  readonly startDelayMs: number;
  /** Milliseconds that envd serves a stream which nobody reads any more; reported were 924 000. @default 924 000 */
  readonly ghostMs: number;
  /** Bytes that may wait for one reader of a process before the process and all other readers wait. @default 256 KiB */
  readonly readerBytes: number;
  /** See `E2B_ALTERNATIVES`. */
  readonly alternatives: Partial<E2bAlternatives>;
}

export interface E2bSettings extends E2bEmulatorOptions {
  readonly delayMs: E2bDelays;
  readonly alternatives: E2bAlternatives;
}

const NO_DELAYS: E2bDelays = { create: 0, pause: 0, resume: 0, snapshot: 0, kill: 0 };

const DEFAULTS: Omit<E2bEmulatorOptions, 'alternatives' | 'delayMs'> = {
  apiKey: `e2b_${'0'.repeat(40)}`,
  templates: ['base'],
  envdVersion: '0.6.10',
  users: ['user', 'root'],
  defaultUser: 'user',
  maxLengthSeconds: 86_400,
  listLagMs: 200,
  startDelayMs: 0,
  ghostMs: 924_000,
  readerBytes: 256 * 1024,
};

export function settingsOf(options: Partial<E2bEmulatorOptions>): E2bSettings {
  return {
    ...DEFAULTS,
    ...options,
    delayMs: { ...NO_DELAYS, ...options.delayMs },
    alternatives: choices(E2B_ALTERNATIVES, options.alternatives),
  };
}
