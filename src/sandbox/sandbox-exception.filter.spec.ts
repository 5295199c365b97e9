import type { AddressInfo } from 'node:net';
import type { ServerResponse } from 'node:http';
import { Controller, Get, Module, Res, type INestApplication } from '@nestjs/common';
import { APP_FILTER, HttpAdapterHost } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import { Test } from '@nestjs/testing';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SANDBOX_ERROR_CODES, SandboxError, type SandboxErrorCode, type SandboxErrorInit } from '#libs/contract';
import { SANDBOX_HTTP_STATUS, statusOf } from './http-status.js';
import { SandboxExceptionFilter } from './sandbox-exception.filter.js';

/** What the next request fails with. */
let failure: unknown;

@Controller()
class FailingController {
  @Get('fail')
  fail(): never {
    throw failure;
  }

  @Get('begun')
  begun(@Res() response: ServerResponse): never {
    response.write('half');
    throw failure;
  }
}

@Module({
  controllers: [FailingController],
  providers: [{ provide: APP_FILTER, useClass: SandboxExceptionFilter }],
})
class FailingModule {}

const logs: string[] = [];
const record = (text: unknown): void => void logs.push(String(text));

describe('SandboxExceptionFilter', () => {
  let app: INestApplication;
  let url: string;

  beforeAll(async () => {
    const module = await Test.createTestingModule({ imports: [FailingModule] })
      .setLogger({ log: () => {}, error: record, warn: record })
      .compile();
    app = module.createNestApplication();
    await app.listen(0, '127.0.0.1');
    url = `http://127.0.0.1:${((app.getHttpServer() as { address(): unknown }).address() as AddressInfo).port}`;
  });

  afterAll(() => app.close());

  async function answerTo(code: SandboxErrorCode, init: SandboxErrorInit = {}): Promise<Response> {
    failure = new SandboxError(code, init);
    return fetch(`${url}/fail`);
  }

  test.each<[SandboxErrorCode, number]>([
    ['not_found', 404],
    ['truncated', 502],
    ['not_supported', 501],
    ['command_exited', 409],
    ['rate_limited', 429],
    ['unavailable', 503],
    ['denied', 403],
    ['invalid', 400],
    ['restore_failed', 502],
    ['write_failed', 502],
    ['provider', 502],
    ['already_exists', 409],
    ['aborted', 499],
  ])('answers %s with %d', async (code, status) => {
    const response = await answerTo(code, { message: 'why', effect: 'unknown' });
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(response.headers.get('retry-after')).toBeNull();
    await expect(response.json()).resolves.toEqual({ statusCode: status, code, message: 'why', effect: 'unknown' });
  });

  test('has a status for every code, and 502 for one of a later version', () => {
    expect(Object.keys(SANDBOX_HTTP_STATUS).toSorted()).toEqual([...SANDBOX_ERROR_CODES].toSorted());
    expect(statusOf({ code: 'of_the_future' } as unknown as SandboxError)).toBe(502);
    expect(statusOf({ code: 'constructor' } as unknown as SandboxError)).toBe(502);
  });

  test('repeats the detail, but neither cause nor stack', async () => {
    const response = await answerTo('unavailable', {
      detail: 'runner_offline',
      effect: 'none',
      message: 'the runner is not connected',
      operation: 'exec',
      cause: new Error('secret of the cause'),
    });
    await expect(response.text()).resolves.toBe(
      '{"statusCode":503,"code":"unavailable","detail":"runner_offline",' +
        '"message":"the runner is not connected","effect":"none"}',
    );
  });

  test.each([
    ['rate_limited', 1_001, '2'],
    ['rate_limited', 1_000, '1'],
    ['unavailable', 1, '1'],
    ['unavailable', 0, '0'],
  ] as const)('asks to come back after %s with %d ms in %s s', async (code, retryAfterMs, seconds) => {
    expect((await answerTo(code, { retryAfterMs })).headers.get('retry-after')).toBe(seconds);
  });

  test.each([Infinity, NaN])('does not ask to come back after %d ms', async (retryAfterMs) => {
    expect((await answerTo('rate_limited', { retryAfterMs })).headers.has('retry-after')).toBe(false);
  });

  test('knows an error of another copy of the package', async () => {
    const foreign = Object.assign(new Error('from elsewhere'), { code: 'not_found', effect: 'none' });
    failure = Object.defineProperty(foreign, Symbol.for('nestjs-sandbox.SandboxError'), { value: true });
    expect((await fetch(`${url}/fail`)).status).toBe(404);
  });

  test('leaves other errors to Nest', async () => {
    failure = Object.assign(new Error('not ours'), { code: 'not_found' });
    expect((await fetch(`${url}/fail`)).status).toBe(500);
  });

  test('cuts a response off that had begun, so that it does not look whole', async () => {
    failure = new SandboxError('unavailable');
    const read = fetch(`${url}/begun`).then((response) => response.text());
    await expect(read).rejects.toThrow('terminated');
  });

  test('logs what is answered with 500 or more, without message and cause', async () => {
    logs.length = 0;
    await answerTo('not_found', { message: 'secret' });
    await answerTo('unavailable', {
      provider: 'runner',
      operation: 'exec',
      detail: 'timeout',
      message: 'secret',
      cause: new Error('secret'),
    });
    expect(logs).toEqual(['runner exec failed: unavailable / timeout, effect unknown']);
  });

  test.each(['ws', 'rpc', 'graphql'])('passes the error on in the context %s', (type) => {
    const context = new ExecutionContextHost([]);
    context.setType(type);
    const error = new SandboxError('not_found');
    const filter = new SandboxExceptionFilter(app.get(HttpAdapterHost));
    expect(() => filter.catch(error, context)).toThrow(error);
  });
});
