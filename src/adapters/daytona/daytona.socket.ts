import type { SandboxHandle } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { ProviderSocket, type SocketEvents } from '../common/provider-socket.js';
import type { DaytonaContext } from './daytona.context.js';
import { toolboxError } from './daytona.errors.js';

/**
 * A WebSocket to the toolbox of a sandbox that runs.
 *
 * @param headers beside the authorization
 * @returns `undefined` where the sandbox does not run
 */
export async function connectSocket(
  { client, toolboxes }: DaytonaContext,
  handle: SandboxHandle,
  request: {
    readonly path: string;
    readonly query?: readonly (readonly [string, string])[];
    readonly headers?: Readonly<Record<string, string>>;
  },
  events: SocketEvents,
  deadline: Deadline,
): Promise<ProviderSocket | undefined> {
  const toolbox = await toolboxes.ready(handle, deadline, false);
  if (toolbox === undefined) return undefined;
  const url = toolbox.http.socketUrl(request.path, request.query);
  const headers = { ...request.headers, ...client.authorization() };
  return ProviderSocket.connect({ url, headers, refused: toolboxError }, events, deadline);
}
