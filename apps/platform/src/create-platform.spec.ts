import { connect } from 'node:net';
import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { runnerSandboxName } from 'nestjs-sandbox/runner';
import { WebSocket } from 'ws';
import { createPlatform, type Platform, type PlatformOptions } from './create-platform.js';

const ID = '0123abcd-4567-89ef-0123-456789abcdef';
const TOKEN = 'a-token-of-some-length';
const platforms: Platform[] = [];

async function start(options: PlatformOptions = {}): Promise<Platform> {
  const platform = await createPlatform({ logLevels: ['fatal'], runnerTokens: `${ID}:${TOKEN}`, ...options });
  platforms.push(platform);
  return platform;
}

async function health(url: string): Promise<[status: number, body: unknown]> {
  const response = await fetch(`${url}/health`);
  return [response.status, await response.json()];
}

function dial(url: string, token = TOKEN): WebSocket {
  return new WebSocket(`${url.replace('http', 'ws')}/api/runners/ws?name=box`, {
    headers: { Authorization: `Bearer ${token}` },
  });
}

afterEach(async () => {
  await Promise.all(platforms.splice(0).map(({ app }) => app.close()));
});

describe('the platform', () => {
  test('counts the runners that are online', async () => {
    const { url, host } = await start();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await expect(health(url)).resolves.toEqual([200, { status: 'ok', runners: 0 }]);
    const runner = dial(url);
    await host.whenOnline(ID);
    await host.whenOnline(ID);
    await expect(health(url)).resolves.toEqual([200, { status: 'ok', runners: 1 }]);
    runner.terminate();
  });

  test('is not healthy while it drains', async () => {
    const { url, app, host, sandboxes } = await start();
    const runner = dial(url);
    await host.whenOnline(ID);
    // A call that the runner never answers keeps the drain going.
    const asked = once(runner, 'message');
    const call = sandboxes.create('runner', runnerSandboxName(ID));
    await asked;
    const closing = app.close();
    await expect(health(url)).resolves.toEqual([503, { status: 'draining' }]);
    runner.terminate();
    await expect(call).rejects.toMatchObject({ code: 'unavailable', detail: 'runner_disconnected' });
    await closing;
    platforms.length = 0;
  });

  test('refuses a runner with another token', async () => {
    const { url } = await start();
    const runner = dial(url, 'another-token-of-some-length');
    const [error] = (await once(runner, 'error')) as [Error];
    expect(error.message).toBe('Unexpected server response: 401');
  });

  test('fails on a port that is taken, and leaves nothing open', async () => {
    const { url } = await start();
    const port = Number(new URL(url).port);
    await expect(start({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
  });

  test('does not start with malformed tokens', async () => {
    await expect(start({ runnerTokens: 'nonsense' })).rejects.toThrow('RUNNER_TOKENS: entry 1');
  });
});
