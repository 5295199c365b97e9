import type { IncomingMessage } from 'node:http';
import type { CallLog } from '../kit/call-log.js';
import type { EmulatorRoot } from '../kit/emulator-root.js';
import type { EmulatorServer } from '../kit/emulator-server.js';
import type { Faults } from '../kit/faults.js';
import { sameSecret } from '../kit/same-secret.js';
import { startServer } from '../kit/start-server.js';
import { addCheckpointRoutes } from './checkpoint-routes.js';
import { addExecRoutes } from './exec-routes.js';
import { Fleet } from './fleet.js';
import { addFsRoutes } from './fs-routes.js';
import { addManagementRoutes } from './management-routes.js';
import { settingsOf, type SpritesEmulatorOptions } from './options.js';
import { addPolicyRoutes } from './policy-routes.js';
import type { SpriteStatus } from './power.js';
import { refusal } from './refusals.js';
import type { PolicyRule } from './sprite.js';

/** Bytes of a URL from which on the service refuses it. */
const MAX_URL_BYTES = 40 * 1024;

/** What a test may know of a sprite, beyond what the API tells. */
export interface SpriteView {
  readonly id: string;
  readonly status: SpriteStatus;
  readonly policy: readonly PolicyRule[];
  /** Where `/` and `/home/sprite` of the sprite lie on this machine. */
  readonly directory: string;
  readonly home: string;
  /** Of its live sessions. */
  readonly pids: readonly number[];
}

/** The Sprites API on a free port of 127.0.0.1, over processes and files of this machine. */
export class SpritesEmulator {
  #closed: Promise<void> | undefined;

  private constructor(
    private readonly server: EmulatorServer,
    private readonly root: EmulatorRoot,
    private readonly fleet: Fleet,
  ) {}

  static async start(options: Partial<SpritesEmulatorOptions> = {}): Promise<SpritesEmulator> {
    const settings = settingsOf(options);
    const { server, root } = await startServer();
    const fleet = new Fleet(settings, root, server.closing);
    server.guard((_, request) => authenticate(request, settings.token));
    server.guard((_, { url = '' }) => {
      if (Buffer.byteLength(url) > MAX_URL_BYTES) throw refusal(414, 'URI too long');
    });
    addManagementRoutes(server, fleet);
    addExecRoutes(server, fleet);
    addFsRoutes(server, fleet);
    addPolicyRoutes(server, fleet);
    addCheckpointRoutes(server, fleet);
    return new SpritesEmulator(server, root, fleet);
  }

  /** The base URL of the API. */
  get url(): string {
    return this.server.url;
  }

  get token(): string {
    return this.fleet.settings.token;
  }

  /** Every call so far. */
  get calls(): CallLog {
    return this.server.calls;
  }

  get faults(): Faults {
    return this.server.faults;
  }

  /** Names of the sprites that exist, in order. */
  get names(): readonly string[] {
    return this.fleet.all.map(({ name }) => name);
  }

  /** `undefined` when there is none of that name. */
  sprite(name: string): SpriteView | undefined {
    const sprite = this.fleet.find(name);
    if (!sprite) return undefined;
    const { id, power, policy, disk, sessions } = sprite;
    const pids = sessions.live.map(({ process }) => process.pid);
    return { id, status: power.status, policy, directory: disk.directory, home: disk.home, pids };
  }

  /** Pauses a sprite at once, whoever uses it: its connections break, and on `cold` its processes end. */
  async pause(name: string, to: 'warm' | 'cold'): Promise<void> {
    await this.fleet.get(name).power.pause(to);
  }

  /** Makes an automatic checkpoint, as the service does by itself. @returns its id */
  async autoCheckpoint(name: string): Promise<string> {
    return (await this.fleet.get(name).checkpoints.create(undefined, true)).id;
  }

  /** Ends every connection, process and timer, and removes every file. Any number of times, in any state. */
  async close(): Promise<void> {
    this.#closed ??= this.#close();
    await this.#closed;
  }

  async #close(): Promise<void> {
    await this.fleet.close();
    await this.server.close();
    await this.root.close();
  }
}

/** @throws {Refusal} 401 */
function authenticate({ headers }: IncomingMessage, token: string): void {
  if (!sameSecret(headers.authorization ?? '', `Bearer ${token}`)) throw refusal(401, 'authentication failed');
}
