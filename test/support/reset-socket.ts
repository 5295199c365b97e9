import type { Socket } from 'node:net';

/**
 * Breaks a TCP connection. Node never closes a socket that is reset while its end is on the way, and then cannot end
 * itself either: such a one is reset once its end is out.
 */
export function resetSocket(socket: Socket): void {
  const { writableEnded, writableFinished, writableLength, destroyed } = socket;
  const isEnding = writableEnded && !writableFinished && writableLength === 0 && !destroyed;
  if (isEnding) socket.once('finish', () => socket.resetAndDestroy());
  else socket.resetAndDestroy();
}
