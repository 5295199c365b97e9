import { choices } from '../kit/alternatives.js';
import { SPRITES_ALTERNATIVES, type SpritesAlternatives } from './alternatives.js';

/** How the emulated service is set up. Every field may be left out. */
export interface SpritesEmulatorOptions {
  /** The one token that is accepted. @default 'emulator/sprites/token' */
  readonly token: string;
  /** The slug of the organization. @default 'emulator' */
  readonly organization: string;
  /** Most entries of a page of the listing. @default 50 */
  readonly pageSize: number;
  /** How many calls into a new sprite answer 503 first. @default 0 */
  readonly bootRequests: number;
  /** How many execs after a restore answer 503 first. @default 1 */
  readonly restartRequests: number;
  /** Milliseconds between the start of a process and the attach of its client. @default 0 */
  readonly attachDelayMs: number;
  /** Bytes of output kept before the attach. @default 16 KiB */
  readonly earlyBytes: number;
  /** Milliseconds a socket stays open after the exit frame; the service takes about 5 000. @default 20 */
  readonly lingerMs: number;
  /** Milliseconds after which a client that reads nothing is dropped, where it is. @default 30 000 */
  readonly stalledMs: number;
  /** Milliseconds a command without a terminal lives on after a disconnect, where nothing else is said. @default 10 000 */
  readonly runAfterDisconnectMs: number;
  /** Milliseconds between two lines of the answer to a kill. @default 0 */
  readonly killLineDelayMs: number;
  /** Milliseconds without activity after which a sprite turns warm. @default 30 000 */
  readonly idleMs: number;
  /** Milliseconds after which a warm sprite turns cold. @default Infinity */
  readonly coldMs: number;
  /** Milliseconds that waking takes. @default 0 each */
  readonly wakeMs: { readonly warm: number; readonly cold: number };
  /** Milliseconds a policy takes to be accepted; it is in force once it was. @default 0 */
  readonly policyDelayMs: number;
  /** Creates allowed within a window; the service allows 10 in 60 s. @default none */
  readonly createLimit?: { readonly count: number; readonly windowMs: number };
  /** Sprites that may run at once. @default none */
  readonly runningLimit?: number;
  /**
   * Serves the public URL of each sprite on a port of its own and passes requests on to `127.0.0.1:<port>`, where the
   * sprite's program has to listen. Without it a URL is only reported.
   */
  readonly publicUrl?: { readonly port: (name: string) => number };
  /** See `SPRITES_ALTERNATIVES`. */
  readonly alternatives: Partial<SpritesAlternatives>;
}

export interface SpritesSettings extends SpritesEmulatorOptions {
  readonly alternatives: SpritesAlternatives;
}

const DEFAULTS: Omit<SpritesEmulatorOptions, 'alternatives'> = {
  token: 'emulator/sprites/token',
  organization: 'emulator',
  pageSize: 50,
  bootRequests: 0,
  restartRequests: 1,
  attachDelayMs: 0,
  earlyBytes: 16 * 1024,
  lingerMs: 20,
  stalledMs: 30_000,
  runAfterDisconnectMs: 10_000,
  killLineDelayMs: 0,
  idleMs: 30_000,
  coldMs: Infinity,
  wakeMs: { warm: 0, cold: 0 },
  policyDelayMs: 0,
};

export function settingsOf(options: Partial<SpritesEmulatorOptions>): SpritesSettings {
  return { ...DEFAULTS, ...options, alternatives: choices(SPRITES_ALTERNATIVES, options.alternatives) };
}
