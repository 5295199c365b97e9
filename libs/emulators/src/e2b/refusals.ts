import { Refusal } from '../kit/answer.js';

/** `{code, message}` with a numeric code, as the control plane and the plain HTTP of envd answer. */
export function refusal(status: number, message: string, errorCode?: string): Refusal {
  const json = { code: status, message, ...(errorCode !== undefined && { error_code: errorCode }) };
  return new Refusal({ status, headers: { 'content-type': 'application/json; charset=utf-8' }, json });
}

export function noSuchSandbox(id: string): Refusal {
  return refusal(404, `Sandbox "${id}" doesn't exist or you don't have access to it`);
}

export function inTransition(state: string): Refusal {
  return refusal(409, `Sandbox is ${state}, please try again later`);
}

/** What the edge says of a sandbox that it has no route to: one that is paused or gone, or never was. */
export function noRoute(sandboxId: string): Refusal {
  return new Refusal({ status: 502, json: { sandboxId, message: 'The sandbox was not found', code: 502 } });
}

export function portClosed(sandboxId: string, port: number): Refusal {
  const message = 'The sandbox is running but port is not open';
  return new Refusal({ status: 502, json: { sandboxId, message, port, code: 502 } });
}

export function edgeRefusal(sandboxId: string, status: number, message: string): Refusal {
  return new Refusal({ status, json: { sandboxId, message, code: status } });
}
