import type { Exchange } from './exchange.js';
import { PathPattern } from './path-pattern.js';
import type { Upgrade } from './upgrade.js';

/** Answers a request. A `Refusal` that it throws is the answer; any other error is a 500 of the emulator. */
export type Handler = (exchange: Exchange) => Promise<void>;
/** Serves a WebSocket from before its handshake to its end, or returns once it has set that in motion. */
export type UpgradeHandler = (upgrade: Upgrade) => Promise<void>;

interface Found<H> {
  readonly handler: H;
  readonly params: Record<string, string>;
}

/** Routes in the order in which they were added; the first whose method and path fit serves. */
export class Routes {
  readonly #routes: { method: string; pattern: PathPattern; handler: Handler }[] = [];
  readonly #upgrades: { pattern: PathPattern; handler: UpgradeHandler }[] = [];

  add(method: string, pattern: string, handler: Handler): void {
    this.#routes.push({ method, pattern: new PathPattern(pattern), handler });
  }

  addUpgrade(pattern: string, handler: UpgradeHandler): void {
    this.#upgrades.push({ pattern: new PathPattern(pattern), handler });
  }

  find(method: string, path: string): Found<Handler> | undefined {
    return first(
      this.#routes.filter((route) => route.method === method),
      path,
    );
  }

  findUpgrade(path: string): Found<UpgradeHandler> | undefined {
    return first(this.#upgrades, path);
  }
}

function first<H>(routes: readonly { pattern: PathPattern; handler: H }[], path: string): Found<H> | undefined {
  for (const { pattern, handler } of routes) {
    const params = pattern.match(path);
    if (params) return { handler, params };
  }
  return undefined;
}
