import type { Exchange } from '../kit/exchange.js';
import type { Sandbox } from './sandbox.js';

export type EnvdHandler = (exchange: Exchange, sandbox: Sandbox) => Promise<void>;
export type EnvdRoute = readonly [method: string, path: string, handler: EnvdHandler];
