import type { CallLog } from '../kit/call-log.js';
import type { EmulatorRoot } from '../kit/emulator-root.js';
import type { EmulatorServer } from '../kit/emulator-server.js';
import type { Exchange } from '../kit/exchange.js';
import type { Faults } from '../kit/faults.js';
import { Routes } from '../kit/routes.js';
import { sameSecret } from '../kit/same-secret.js';
import { startServer } from '../kit/start-server.js';
import { addControlRoutes } from './control-routes.js';
import { ENVD_PORT, forward, reached, targetOf } from './edge.js';
import { serveEnvd } from './envd.js';
import type { SandboxState } from './lifecycle.js';
import { addMachineRoutes } from './machine-routes.js';
import type { NetworkPolicy } from './network.js';
import { settingsOf, type E2bEmulatorOptions } from './options.js';
import { refusal } from './refusals.js';
import { Sandboxes } from './sandboxes.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const CREDENTIALS = ['authorization', 'x-api-key', 'x-access-token', 'e2b-traffic-access-token'];

/** What a test may know of a sandbox, beyond what the API tells. */
export interface E2bSandboxView {
  readonly id: string;
  readonly state: SandboxState;
  readonly metadata: Readonly<Record<string, string>>;
  readonly network: NetworkPolicy | undefined;
  readonly allowInternetAccess: boolean | undefined;
  readonly endAt: Date;
  /** Where `/` and the home of the template's own user lie on this machine. */
  readonly directory: string;
  readonly home: string;
  /** Of the processes that its envd lists. */
  readonly pids: readonly number[];
  /** Calls into it that carried the API key, which is meant for the control plane alone. */
  readonly apiKeysSeen: number;
}

/**
 * The E2B service on one free port of 127.0.0.1, over processes and files of this machine: the control plane, and the
 * edge behind which the sandboxes are with their envd.
 *
 * How a client gets into a sandbox: the service has a host for each port of each, `<port>-<id>.<domain>`, and a shared
 * one where the headers `E2b-Sandbox-Id` and `E2b-Sandbox-Port` (49983 is envd) tell what is meant. The emulator takes
 * both: a request with the headers, or whose Host begins with such a label, goes into that sandbox; any other is for the
 * control plane. Since `fetch` sets no Host and resolves no such name, a client is pointed here by two base URLs, both of
 * which are `url`: that of the API (`E2B_API_URL`, `apiUrl` of the SDK) and that of the sandboxes (`E2B_SANDBOX_URL`,
 * `sandboxUrl`), and sends the headers with each call into a sandbox. `E2B_DEBUG` is of no use: it skips half of the
 * calls. Any other port than 49983 is passed on, over HTTP alone, to that port of this machine.
 *
 * Processes are children of this one and, as at the service, lead no group of their own: `setsid` keeps their pid, and a
 * script that signals its own group signals this process. Not emulated: users (all are this one), the enforcement of
 * policies, memory in snapshots (a copy has no processes), watchers of files, `StreamInput`, metadata of files, metrics and logs of
 * the control plane. Commands get TMPDIR, which
 * the service does not set, so that they can keep out of the machine's own `/tmp`.
 */
export class E2bEmulator {
  #closed: Promise<void> | undefined;

  private constructor(
    private readonly server: EmulatorServer,
    private readonly root: EmulatorRoot,
    private readonly sandboxes: Sandboxes,
  ) {}

  static async start(options: Partial<E2bEmulatorOptions> = {}): Promise<E2bEmulator> {
    const settings = settingsOf(options);
    const { server, root } = await startServer({ credentialHeaders: CREDENTIALS });
    const sandboxes = new Sandboxes(settings, root, server.closing);
    const control = new Routes();
    addControlRoutes(control, sandboxes);
    addMachineRoutes(control, sandboxes);
    for (const method of METHODS) {
      server.route(method, '/*', async (exchange) => await serve(exchange, control, sandboxes));
    }
    return new E2bEmulator(server, root, sandboxes);
  }

  /** The base URL of the API, and of what is inside sandboxes. */
  get url(): string {
    return this.server.url;
  }

  get apiKey(): string {
    return this.sandboxes.settings.apiKey;
  }

  /** Every call so far, to the control plane and into sandboxes. */
  get calls(): CallLog {
    return this.server.calls;
  }

  get faults(): Faults {
    return this.server.faults;
  }

  /** Ids of the sandboxes that exist, in the order of creation. */
  get ids(): readonly string[] {
    return this.sandboxes.all.map(({ id }) => id);
  }

  /** `undefined` when there is none of that id. */
  sandbox(id: string): E2bSandboxView | undefined {
    const sandbox = this.sandboxes.find(id);
    if (!sandbox) return undefined;
    const { lifecycle, request, network, allowInternetAccess, disk, processes, apiKeysSeen } = sandbox;
    return {
      id,
      state: lifecycle.state,
      metadata: request.metadata ?? {},
      network,
      allowInternetAccess,
      endAt: lifecycle.endAt,
      directory: disk.directory,
      home: disk.home,
      pids: processes.live.map(({ pid }) => pid),
      apiKeysSeen,
    };
  }

  /** Goes through the rest of the change of state that is under way, if one is, without waiting. */
  async finish(id: string): Promise<void> {
    await this.sandboxes.get(id).lifecycle.finish();
  }

  /** The next pause of this sandbox answers 500, and the sandbox is lost. */
  breakNextPause(id: string): void {
    this.sandboxes.get(id).lifecycle.breakNextPause();
  }

  /** Lets the time to live of a sandbox be over. Resolves when it was paused or killed, as it asked for. */
  async expire(id: string): Promise<void> {
    await this.sandboxes.get(id).lifecycle.expire();
  }

  /** Ends every connection, process and timer, and removes every file. Any number of times, in any state. */
  async close(): Promise<void> {
    this.#closed ??= this.#close();
    await this.#closed;
  }

  async #close(): Promise<void> {
    this.sandboxes.close();
    await this.server.close();
    await this.root.close();
  }
}

async function serve(exchange: Exchange, control: Routes, sandboxes: Sandboxes): Promise<void> {
  const target = targetOf(exchange);
  if (target) {
    const sandbox = await reached(sandboxes, exchange, target);
    return await (target.port === ENVD_PORT ? serveEnvd(exchange, sandbox) : forward(exchange, target));
  }
  authenticate(exchange, sandboxes.settings.apiKey);
  const { method, path } = exchange.call;
  const found = control.find(method, path);
  if (!found) throw refusal(404, 'no matching operation was found');
  Object.assign(exchange.params, found.params);
  return await found.handler(exchange);
}

/** @throws {Refusal} 401 */
function authenticate({ headers }: Exchange, apiKey: string): void {
  const given = headers['x-api-key'];
  if (given === undefined) throw refusal(401, 'authorization header is missing');
  if (sameSecret(String(given), apiKey)) return;
  throw refusal(401, 'Cannot get the team for the given API key: invalid API key format or no such team');
}
