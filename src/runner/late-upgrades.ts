import { STATUS_CODES, type IncomingMessage, type Server } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Answers 503 to every upgrade that nobody else listens for, until the server has closed. In a shutdown WebSockets are
 * closed before HTTP is: without a listener Node takes the dial for an ordinary request, whose 404 tells a daemon that
 * it was deleted.
 */
export function refuseLateUpgrades(server: Server): void {
  const refuse = (_request: IncomingMessage, socket: Duplex): void => {
    if (server.listenerCount('upgrade') > 1) return;
    socket.on('error', () => {});
    socket.end(`HTTP/1.1 503 ${STATUS_CODES[503]}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  };
  server.on('upgrade', refuse);
  server.once('close', () => server.off('upgrade', refuse));
}
