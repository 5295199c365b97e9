import type { Deadline } from '../common/deadline.js';
import { ProviderSocket, type SocketEvents } from '../common/provider-socket.js';
import type { SpritesClient } from './sprites.client.js';
import { answerError } from './sprites.errors.js';

/** Frames may be delivered before it resolves. @throws {SandboxError} the refusal, its effect as the status has it */
export function connectSocket(
  client: SpritesClient,
  path: string,
  query: Iterable<readonly [string, string]>,
  events: SocketEvents,
  deadline: Deadline,
): Promise<ProviderSocket> {
  const target = { url: client.socketUrl(path, query), headers: client.authorization(), refused: answerError };
  return ProviderSocket.connect(target, events, deadline);
}
