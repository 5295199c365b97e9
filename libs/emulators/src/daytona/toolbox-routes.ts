import { Refusal, type Answer } from '../kit/answer.js';
import type { EmulatorServer } from '../kit/emulator-server.js';
import type { Exchange } from '../kit/exchange.js';
import type { Upgrade } from '../kit/upgrade.js';
import { accepts } from './api-routes.js';
import { BareFailure, daemonAnswer, DaemonFailure } from './daemon-failure.js';
import type { Fleet } from './fleet.js';
import { SandboxDown, type Sandbox } from './sandbox.js';
import type { Upkeep } from './upkeep.js';

/** A call that has reached the daemon of a sandbox. */
export interface ToolboxCall {
  readonly sandbox: Sandbox;
  readonly exchange: Exchange;
  /** Aborted when the sandbox goes down or the emulator closes. */
  readonly signal: AbortSignal;
}

export interface ToolboxUpgrade {
  readonly sandbox: Sandbox;
  readonly upgrade: Upgrade;
  readonly signal: AbortSignal;
}

/** @returns the answer, unless it was given already */
export type ToolboxAct = (call: ToolboxCall) => Promise<Answer | void>;

const BASE = '/toolbox/:id';

/** The routes of the toolbox: a proxy with the daemon of each sandbox behind it. */
export class ToolboxRoutes {
  constructor(
    private readonly server: EmulatorServer,
    private readonly fleet: Fleet,
    private readonly upkeep: Upkeep,
  ) {}

  add(method: string, path: string, act: ToolboxAct): void {
    this.server.route(method, `${BASE}${path}`, async (exchange) => await this.#serve(exchange, act));
  }

  addUpgrade(path: string, act: (call: ToolboxUpgrade) => Promise<void>): void {
    this.server.upgrade(`${BASE}${path}`, async (upgrade) => {
      try {
        const sandbox = this.#enter(upgrade);
        await used(sandbox, async (signal) => await act({ sandbox, upgrade, signal }));
      } catch (error) {
        throw new Refusal(this.#failed(error, upgrade));
      }
    });
  }

  /** To be called last: every other path below a sandbox. */
  addUnknown(): void {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE']) {
      this.add(method, '/*', async () => ({ status: 404, text: '404 page not found' }));
    }
  }

  async #serve(exchange: Exchange, act: ToolboxAct): Promise<void> {
    try {
      const sandbox = this.#enter(exchange);
      const answer = await used(sandbox, async (signal) => await act({ sandbox, exchange, signal }));
      if (answer) await exchange.reply(answer);
    } catch (error) {
      if (exchange.answered && error instanceof SandboxDown) return exchange.cut();
      if (exchange.answered) throw error;
      await exchange.reply(this.#failed(error, exchange));
    }
  }

  /** What the proxy does before a call reaches a daemon. */
  #enter({ headers, params }: Exchange | Upgrade): Sandbox {
    const { settings } = this.fleet;
    const { alternatives } = settings;
    if (!accepts(headers, settings.token)) throw unauthorized();
    const sandbox = this.fleet.byId(params['id']!);
    if (!sandbox || sandbox.lifecycle.desired === 'destroyed') {
      if (alternatives.toolboxWhenGone === 401) throw unauthorized();
      throw new DaemonFailure(404, `sandbox with ID ${params['id']} not found`);
    }
    if (headers['x-daytona-skip-last-activity-update'] !== 'true') {
      sandbox.touch();
      this.upkeep.arm(sandbox);
    }
    const { state } = sandbox.lifecycle;
    if (sandbox.zombie) throw new BareFailure({ status: 502 });
    if (state === 'stopping' && alternatives.toolboxWhenStopping === 502) throw new BareFailure({ status: 502 });
    if (/^(?:archived|archiving|restoring)$/.test(state) && alternatives.toolboxWhenArchived === 404) {
      throw new DaemonFailure(404, 'sandbox container not found');
    }
    if (!/^(?:started|resizing|snapshotting)$/.test(state) || sandbox.lifecycle.desired === 'stopped') {
      throw new DaemonFailure(
        400,
        'failed to resolve container IP after 3 attempts: no IP address found. Is the Sandbox started?',
      );
    }
    if (sandbox.bootLeft > 0) {
      sandbox.bootLeft -= 1;
      throw new BareFailure({ status: 502 });
    }
    return sandbox;
  }

  #failed(error: unknown, { call, params, closing }: Exchange | Upgrade): Answer {
    if (error instanceof BareFailure || error instanceof Refusal) return error.answer;
    // The connection to the daemon broke.
    if (error instanceof SandboxDown && !closing.aborted) return { status: 502 };
    if (!(error instanceof DaemonFailure)) throw error;
    const path = call.path.slice(`/toolbox/${params['id']}`.length);
    return daemonAnswer(error, { method: call.method, path }, this.fleet.settings.alternatives.daemon);
  }
}

/** While it lasts the sandbox is not stopped for want of activity. @throws {SandboxDown} whatever failed, it went down */
async function used<T>(sandbox: Sandbox, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
  sandbox.users += 1;
  const { down } = sandbox;
  try {
    return await act(AbortSignal.any([down, sandbox.closing]));
  } catch (error) {
    throw down.aborted ? new SandboxDown() : error;
  } finally {
    sandbox.users -= 1;
  }
}

function unauthorized(): DaemonFailure {
  return new DaemonFailure(401, 'unauthorized: authentication is missing or failed');
}

/** The body of a call to the daemon as an object; empty when there is none. @throws {DaemonFailure} 400 */
export async function daemonBody(exchange: Exchange): Promise<Readonly<Record<string, unknown>>> {
  try {
    return Object((await exchange.json()) ?? {}) as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new DaemonFailure(400, 'invalid body request: it is no JSON', 'INVALID_REQUEST_BODY');
  }
}

/** Aborted when nobody reads the answer any more. */
export function goneOf(exchange: Exchange): AbortSignal {
  const gone = new AbortController();
  exchange.onGone(() => gone.abort());
  return gone.signal;
}
