import { createServer, request as requestTo, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What the public URL of a sprite needs of it. */
export interface PublicHost {
  readonly settings: { readonly token: string };
  readonly urlSettings: { readonly auth: string };
  readonly power: { use(): Promise<() => void> };
}

/** The public URL of one sprite, over HTTP: requests wake it and go to a port of this machine. No WebSockets. */
export class PublicUrl {
  #closed: Promise<void> | undefined;

  private constructor(private readonly server: Server) {}

  /** @param port where the program of the sprite listens */
  static async start(sprite: PublicHost, port: number): Promise<PublicUrl> {
    const server = createServer((request, response) => void pass(sprite, port, request, response));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new PublicUrl(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      this.server.close(() => resolve());
      this.server.closeAllConnections();
    });
    await this.#closed;
  }
}

async function pass(
  sprite: PublicHost,
  port: number,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { token } = sprite.settings;
  if (sprite.urlSettings.auth !== 'public' && request.headers.authorization !== `Bearer ${token}`) {
    response.writeHead(401, { 'content-type': 'text/plain' }).end('authentication required\n');
    return;
  }
  const leave = await sprite.power.use().catch(() => undefined);
  if (!leave) {
    response.writeHead(503, { 'content-type': 'text/plain' }).end('sprite is not available\n');
    return;
  }
  response.once('close', leave);
  const { method, url: path, headers } = request;
  const onward = requestTo({ host: '127.0.0.1', port, method, path, headers, agent: false });
  onward.once('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.once('error', () => {
    if (response.headersSent) response.destroy();
    else response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>502 Bad Gateway</h1>');
  });
  response.once('close', () => onward.destroy());
  request.pipe(onward);
}
