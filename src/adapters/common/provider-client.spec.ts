import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { SandboxError, type SandboxEffect } from '#libs/contract';
import { Deadline } from './deadline.js';
import type { HttpAnswer, HttpRequest } from './http-client.js';
import { ProviderClient } from './provider-client.js';

class Client extends ProviderClient {
  override authorization(): Record<string, string> {
    return { authorization: 'Bearer a' };
  }

  protected override errorOf({ status }: HttpAnswer): SandboxError {
    return new SandboxError(status === 429 ? 'rate_limited' : 'unavailable', { message: `answered ${status}` });
  }
}

/** Where a conflict passes too. */
class Patient extends Client {
  protected override isPassing(answer: HttpAnswer): boolean {
    return answer.status === 409 || super.isPassing(answer);
  }
}

const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

/** A server that gives these statuses one after the other, and the last of them on. */
async function serve(...statuses: readonly number[]): Promise<{ readonly url: string; readonly seen: string[] }> {
  const seen: string[] = [];
  const server = createServer(({ headers }, response: ServerResponse) => {
    const status = statuses[Math.min(seen.length, statuses.length - 1)];
    seen.push(headers.authorization ?? '');
    response.writeHead(status ?? 500).end();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  open.push({ close: () => server.close() && server.closeAllConnections() });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const lost = new SandboxError('unavailable', { effect: 'unknown' });
const refused = new SandboxError('denied', { effect: 'none' });

const request = (deadline: Deadline): HttpRequest => ({ method: 'GET', path: '/x', deadline });

describe('requests of a provider', () => {
  test.each([429, 500, 503, 599])('%p is answered once by send, and asked for again by sendAgain', async (status) => {
    using deadline = new Deadline(20_000);
    const { url, seen } = await serve(status, status, 200);
    const client = new Client(url, 1);
    expect((await client.send(request(deadline))).status).toBe(status);
    expect(seen).toEqual(['Bearer a']);
    expect((await client.sendAgain(request(deadline))).status).toBe(200);
    expect(seen.length).toBe(3);
  });

  test.each([204, 302, 400, 404, 409])('%p is an answer', async (status) => {
    using deadline = new Deadline(20_000);
    const { url, seen } = await serve(status, 200);
    expect((await new Client(url, 1).sendAgain(request(deadline))).status).toBe(status);
    expect(seen.length).toBe(1);
  });

  test('what passes is for each provider to say, and four times is the end', async () => {
    using deadline = new Deadline(20_000);
    const conflict = await serve(409, 200);
    expect((await new Patient(conflict.url, 1).sendAgain(request(deadline))).status).toBe(200);
    const down = await serve(503);
    await expect(new Patient(down.url, 1).sendAgain(request(deadline))).rejects.toThrow('answered 503');
    expect(down.seen.length).toBe(4);
  });

  test('what attempts before may have done counts for a refusal of the last, but not of a read', async () => {
    using deadline = new Deadline(20_000);
    const earlier = async (method: HttpRequest['method'], ...statuses: readonly number[]): Promise<unknown> => {
      const { url } = await serve(...statuses);
      return (await new Client(url, 1).sendAgain({ ...request(deadline), method })).earlier;
    };
    expect(await earlier('PUT', 500, 404)).toBe('unknown');
    expect(await earlier('PUT', 429, 404)).toBe('none');
    expect(await earlier('PUT', 404)).toBe('none');
    expect(await earlier('GET', 500, 404)).toBe('none');
    expect(await earlier('GET', 200)).toBe('none');
  });

  test.each<[string, SandboxError, SandboxError, object]>([
    ['refuses', lost, refused, { code: 'denied', effect: 'unknown' }],
    ['refuses at once', refused, lost, { code: 'denied', effect: 'none' }],
    ['did it', lost, new SandboxError('denied', { effect: 'done' }), { code: 'denied', effect: 'done' }],
  ])('work that is tried again and in the end %s says what any attempt may have done', async (_, first, then, end) => {
    using deadline = new Deadline(20_000);
    const outcomes = [first, then];
    const told: SandboxEffect[] = [];
    const work = (earlier: SandboxEffect): Promise<never> => {
      told.push(earlier);
      return Promise.reject(outcomes.shift());
    };
    await expect(new Client('http://127.0.0.1:1', 1).retry(deadline, work)).rejects.toMatchObject(end);
    expect(told).toEqual(first === lost ? ['none', 'unknown'] : ['none']);
  });

  test('a deadline that ends between two attempts is said as its own', async () => {
    const controller = new AbortController();
    using deadline = new Deadline(60_000, controller.signal);
    const { url, seen } = await serve(503);
    const sent = new Client(url, 30_000).sendAgain(request(deadline));
    while (seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
    controller.abort('why');
    await expect(sent).rejects.toMatchObject({ code: 'aborted', cause: 'why' });
    expect(seen.length).toBe(1);
  });
});
