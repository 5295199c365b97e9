import type { EmulatorServer } from '../kit/emulator-server.js';
import type { Exchange } from '../kit/exchange.js';
import type { Fleet } from './fleet.js';
import { FsCall } from './fs-call.js';
import { changeMode, changeOwner, copyFile, deleteFile, renameFile } from './fs-change.js';
import { readFile, writeFile } from './fs-content.js';
import { listFiles } from './fs-list.js';
import { enterVm } from './vm.js';

type FsHandler = (call: FsCall) => Promise<void>;

/** Calls whose parameters are in the query. */
const BY_QUERY: readonly (readonly [string, string, FsHandler])[] = [
  ['PUT', 'write', writeFile],
  ['GET', 'read', readFile],
  ['GET', 'list', listFiles],
];
/** Calls whose parameters are in the body, or in the query. */
const BY_BODY: readonly (readonly [string, string, FsHandler])[] = [
  ['DELETE', 'delete', deleteFile],
  ['POST', 'rename', renameFile],
  ['POST', 'copy', copyFile],
  ['POST', 'chmod', changeMode],
  ['POST', 'chown', changeOwner],
];

export function addFsRoutes(server: EmulatorServer, fleet: Fleet): void {
  const add = (method: string, name: string, handler: (exchange: Exchange) => Promise<FsCall>, act: FsHandler) => {
    server.route(method, `/v1/sprites/:name/fs/${name}`, async (exchange) => await act(await handler(exchange)));
  };
  for (const [method, name, act] of BY_QUERY) {
    add(method, name, async (exchange) => new FsCall(exchange, await entered(fleet, exchange)), act);
  }
  for (const [method, name, act] of BY_BODY) {
    const parse = async (exchange: Exchange) => {
      const sprite = await entered(fleet, exchange);
      return new FsCall(exchange, sprite, Object((await exchange.json()) ?? {}) as Record<string, unknown>);
    };
    add(method, name, parse, act);
  }
}

/** The sprite runs until the answer is complete. */
async function entered(fleet: Fleet, exchange: Exchange): Promise<FsCall['sprite']> {
  const { sprite, leave } = await enterVm(fleet, exchange);
  exchange.onGone(leave);
  return sprite;
}
