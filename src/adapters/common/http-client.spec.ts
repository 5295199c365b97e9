import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { SandboxError } from '#libs/contract';
import { Deadline } from './deadline.js';
import { HttpClient, type HttpRequest } from './http-client.js';
import { transportError } from './transport-error.js';

const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

async function serve(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  open.push({ close: () => server.close() && server.closeAllConnections() });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const client = (url: string): HttpClient => new HttpClient(url, () => ({ authorization: 'Bearer hunter2' }));
const get = async (url: string, more: Partial<HttpRequest> = {}) => {
  const deadline = more.deadline ?? new Deadline(5_000);
  try {
    return await client(url).request({ method: 'GET', path: '/x', deadline, ...more });
  } finally {
    deadline[Symbol.dispose]();
  }
};
const failure = async (promise: Promise<unknown>): Promise<SandboxError> => {
  const error: unknown = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(SandboxError);
  expect(inspect(error, { depth: 10 })).not.toContain('hunter2');
  return error as SandboxError;
};

describe('requests over HTTP', () => {
  test.each(['', '/', '/base/v9', '/base/v9//'])('go below a base URL that ends in %p', async (path) => {
    const seen: string[] = [];
    const url = await serve((request: IncomingMessage, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers.authorization}`);
      response.end('{"a":1}');
    });
    const answer = await get(`${url}${path}`, { query: [['q', 'a b&c']] });
    expect(answer.json()).toEqual({ a: 1 });
    expect(seen).toEqual([`GET ${path.replace(/\/+$/, '')}/x?q=a+b%26c Bearer hunter2`]);
  });

  test('a redirect is an answer, and the credential goes nowhere else', async () => {
    let reached = false;
    const elsewhere = await serve((_, response) => {
      reached = true;
      response.end();
    });
    const url = await serve((_, response) => response.writeHead(307, { location: elsewhere }).end());
    expect((await get(url)).status).toBe(307);
    expect(reached).toBe(false);
  });

  test.each(['only ASCII', 'é💡'])('text is read as UTF-8: %s', async (text) => {
    const url = await serve((_, response) => response.end(JSON.stringify({ text })));
    expect((await get(url)).json()).toEqual({ text });
  });

  test('connections are reused', async () => {
    const sockets = new Set<unknown>();
    const url = await serve(({ socket }, response) => {
      sockets.add(socket);
      response.end('x');
    });
    for (let i = 0; i < 20; i += 1) await get(url);
    // The next request may come before the last connection is back.
    expect(sockets.size).toBeLessThanOrEqual(2);
  });

  test('an answer beyond its bound is refused', async () => {
    const url = await serve((_, response) => response.end('x'.repeat(2000)));
    expect(words(await failure(get(url, { maxBytes: 1999 })))).toEqual({
      code: 'provider',
      detail: 'malformed_reply',
      effect: 'unknown',
    });
    expect((await get(url, { maxBytes: 2000 })).body.byteLength).toBe(2000);
  });

  test('content beyond its bound is not given, however the service sends it', async () => {
    const large = 'x'.repeat(2000);
    const whole = await serve((_, response) => response.end(large));
    const pieces = await serve((_, response) => {
      response.write(large);
      response.end();
    });
    const truncated = { code: 'truncated', detail: undefined, effect: 'none' };
    const read = async (url: string) => words(await failure(get(url, { maxBytes: 1999, isContent: true })));
    expect([await read(whole), await read(pieces)]).toEqual([truncated, truncated]);
    const { body } = await get(pieces, { maxBytes: 2000, isContent: true });
    expect(Buffer.from(body).toString()).toBe(large);
  });

  test('content that only the end of the connection ends is not given, since it was perhaps cut', async () => {
    const cut = await serve(({ socket }) => socket.end('HTTP/1.1 200 OK\r\n\r\nhalf of i'));
    const malformed = { code: 'provider', detail: 'malformed_reply', effect: 'unknown' };
    expect(words(await failure(get(cut, { isContent: true })))).toEqual(malformed);
    expect((await get(cut)).text()).toBe('half of i');
    const empty = await serve((_, response) => response.end());
    expect((await get(empty, { isContent: true })).body.byteLength).toBe(0);
  });

  test.each([true, false])('of a failure the status counts, however long it is (content: %p)', async (isContent) => {
    const page = 'x'.repeat(200_000);
    const url = await serve((_, response) => response.writeHead(403, { 'retry-after': '7' }).end(page));
    const { status, headers, body } = await get(url, { maxBytes: 1_000_000, isContent });
    expect([status, headers.get('retry-after')]).toEqual([403, '7']);
    expect(body.byteLength).toBeLessThanOrEqual(65_536);
    expect((await get(url, { maxBytes: 100, isContent })).body.byteLength).toBeLessThanOrEqual(100);
    const endless = await serve((_, response) => {
      const more = (): unknown =>
        response.destroyed || (response.write(page) ? setImmediate(more) : response.once('drain', more));
      response.writeHead(500);
      more();
    });
    expect((await get(endless, { isContent })).status).toBe(500);
  });

  test('an answer that announces more than its bound is not waited for', async () => {
    const url = await serve((_, response) => response.writeHead(200, { 'content-length': '2000' }).write('x'));
    const error = await failure(get(url, { maxBytes: 1999, deadline: new Deadline(20_000) }));
    expect(words(error)).toEqual({ code: 'provider', detail: 'malformed_reply', effect: 'unknown' });
  });

  test('a JSON body says what it is, and a header of the request beats that', async () => {
    const seen: unknown[] = [];
    const url = await serve((request, response) => {
      request.setEncoding('utf8').once('data', (body) => {
        seen.push([request.headers['content-type'], body]);
        response.end();
      });
    });
    const post = { method: 'POST', json: { a: [1, 'é'] } } as const;
    await get(url, post);
    await get(url, { ...post, headers: { 'content-type': 'application/merge-patch+json' } });
    const body = '{"a":[1,"é"]}';
    expect(seen).toEqual([
      ['application/json', body],
      ['application/merge-patch+json', body],
    ]);
  });

  test('a deadline counts headers and body, and leaves open what happened', async () => {
    const url = await serve((_, response) => response.writeHead(200).write('x'));
    const error = await failure(get(url, { deadline: new Deadline(50) }));
    expect(words(error)).toEqual({ code: 'unavailable', detail: undefined, effect: 'unknown' });
  });

  test('a body that neither ends nor fails when its request is given up is not waited for', async () => {
    const controller = new AbortController();
    const body = new ReadableStream({
      start: (stream) => stream.enqueue(new TextEncoder().encode('all of it')),
      // Asked for more, so what came was taken. Node does the same with a body that had come whole by then.
      pull: () => controller.abort('why'),
    });
    const replaced = jest.spyOn(globalThis, 'fetch').mockResolvedValue(new Response(body));
    try {
      const error = await failure(get('http://127.0.0.1', { deadline: new Deadline(20_000, controller.signal) }));
      expect([words(error), error.cause]).toEqual([{ code: 'aborted', detail: undefined, effect: 'unknown' }, 'why']);
    } finally {
      replaced.mockRestore();
    }
  });

  test('a deadline that is over sends nothing', async () => {
    let reached = 0;
    const url = await serve((_, response) => {
      reached += 1;
      response.end();
    });
    const controller = new AbortController();
    controller.abort('why');
    const error = await failure(get(url, { deadline: new Deadline(1000, controller.signal) }));
    expect(words(error)).toEqual({ code: 'aborted', detail: undefined, effect: 'none' });
    expect([error.cause, reached]).toEqual(['why', 0]);
  });

  test('a refused connection did nothing', async () => {
    const url = await serve(() => {});
    for (const one of open.splice(0)) one.close();
    expect(words(await failure(get(url)))).toEqual({ code: 'unavailable', detail: undefined, effect: 'none' });
  });

  test('a server that speaks no TLS did nothing', async () => {
    const server = createTcpServer((socket) => socket.on('error', () => {}).end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    open.push(server);
    const { port } = server.address() as AddressInfo;
    expect((await failure(get(`https://127.0.0.1:${port}`))).effect).toBe('none');
  });

  test('a connection that is reset after the request leaves open what happened', async () => {
    const url = await serve((request) => request.socket.resetAndDestroy());
    expect(words(await failure(get(url)))).toEqual({ code: 'unavailable', detail: undefined, effect: 'unknown' });
  });

  test('a body that ends early is no answer', async () => {
    const url = await serve((request, response) => {
      response.writeHead(200, { 'content-length': '100' }).write('x', () => request.socket.destroy());
    });
    expect((await failure(get(url))).effect).toBe('unknown');
  });

  test.each<[string, unknown, string]>([
    ['a name that is not found', { cause: { code: 'ENOTFOUND' } }, 'none'],
    ['a resolver that is busy', { cause: { code: 'EAI_AGAIN' } }, 'none'],
    ['a wrong certificate', { cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' } }, 'none'],
    ['an expired certificate', { cause: { code: 'CERT_HAS_EXPIRED' } }, 'none'],
    ['no connection in time', { cause: { code: 'UND_ERR_CONNECT_TIMEOUT' } }, 'none'],
    ['every address refusing', { cause: { errors: [{ code: 'ECONNREFUSED' }, { code: 'ENETUNREACH' }] } }, 'none'],
    ['one address resetting', { cause: { errors: [{ code: 'ECONNREFUSED' }, { code: 'ECONNRESET' }] } }, 'unknown'],
    ['a reset', { cause: { code: 'ECONNRESET' } }, 'unknown'],
    ['headers that do not come', { cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } }, 'unknown'],
    ['something else', new Error('what'), 'unknown'],
  ])('%s has the effect that it must', (_, thrown, effect) => {
    expect(transportError(thrown)).toMatchObject({ code: 'unavailable', effect });
  });
});

/** `code`, `detail` and `effect` of a SandboxError. */
function words(error: unknown): unknown {
  const { code, detail, effect } = error as SandboxError;
  return { code, detail, effect };
}
