import { inspect } from 'node:util';
import { afterEach, describe, expect, test } from '@jest/globals';
import { E2bAdapter } from './e2b.adapter.js';
import { E2bOptions } from './e2b.options.js';

const VARIABLES = ['E2B_API_KEY', 'E2B_BASE_URL', 'E2B_TEMPLATE', 'E2B_USER', 'E2B_DOMAIN', 'SANDBOX_RETRY_BASE_MS'];
const before = VARIABLES.map((name) => [name, process.env[name]] as const);

afterEach(() => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

describe('the options of the E2B adapter', () => {
  test('have the defaults of the service', () => {
    for (const name of VARIABLES) delete process.env[name];
    expect(new E2bOptions({}).toJSON()).toEqual({
      baseUrl: 'https://api.e2b.app',
      template: 'base',
      timeoutMs: 30_000,
      ttlSeconds: 1800,
      keepaliveSeconds: 15,
      retryBaseMs: 250,
    });
  });

  test('take what is given before the environment, and that before the default', () => {
    process.env['E2B_TEMPLATE'] = 'from-environment';
    process.env['E2B_USER'] = 'sprite';
    process.env['SANDBOX_RETRY_BASE_MS'] = '7';
    expect(new E2bOptions({ template: 'given' })).toMatchObject({ template: 'given', user: 'sprite', retryBaseMs: 7 });
  });

  test.each([
    [{ baseUrl: 'ftp://example.com' }, /baseUrl/],
    [{ baseUrl: 'https://user:hunter2@example.com' }, /baseUrl/],
    [{ sandboxUrl: 'hunter2' }, /sandboxUrl/],
    [{ domain: 'hunter2/path' }, /domain/],
    [{ apiKey: 'hunter2\nx' }, /apiKey/],
    [{ user: 'hunter2:x' }, /user/],
    [{ template: 'hunter2 x' }, /template/],
    [{ timeoutMs: 0 }, /timeoutMs/],
    [{ ttlSeconds: 0 }, /ttlSeconds/],
    [{ keepaliveSeconds: 0 }, /keepaliveSeconds/],
  ])('refuse %p without its value', (given, message) => {
    expect(() => new E2bOptions(given)).toThrow(message);
    expect(() => new E2bOptions(given)).not.toThrow(/hunter2/);
  });

  test('show no key', () => {
    const options = new E2bOptions({ apiKey: 'hunter2' });
    const text = inspect([options, new E2bAdapter(options)], { depth: 9 }) + JSON.stringify(options);
    expect(text).not.toContain('hunter2');
    expect(options.apiKey).toBe('hunter2');
  });

  test('without a key, every call is denied and nothing is sent', async () => {
    delete process.env['E2B_API_KEY'];
    const adapter = new E2bAdapter(new E2bOptions({ baseUrl: 'http://127.0.0.1:9' }));
    const denied = expect.objectContaining({ code: 'denied', effect: 'none' });
    await expect(adapter.create('box')).rejects.toEqual(denied);
    await expect(adapter.listAllNames()).rejects.toEqual(denied);
    await expect(adapter.exec(adapter.buildHandle('box'), 'true')).rejects.toEqual(denied);
  });
});
