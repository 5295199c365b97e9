import { inspect } from 'node:util';
import { afterEach, describe, expect, test } from '@jest/globals';
import { SpritesAdapter } from './sprites.adapter.js';
import { SpritesOptions } from './sprites.options.js';

const VARIABLES = ['SPRITES_TOKEN', 'SPRITES_BASE_URL', 'SPRITES_TIMEOUT_MS', 'SPRITES_PUBLIC_URLS'];
const before = VARIABLES.map((name) => [name, process.env[name]] as const);

afterEach(() => {
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

describe('the options of the Sprites adapter', () => {
  test('take what is given before the environment, and that before the default', () => {
    process.env['SPRITES_TIMEOUT_MS'] = '500';
    process.env['SPRITES_PUBLIC_URLS'] = 'false';
    expect(new SpritesOptions({ publicUrls: true })).toMatchObject({
      baseUrl: 'https://api.sprites.dev',
      timeoutMs: 500,
      publicUrls: true,
      checkpointCreationEnabled: false,
      retryBaseMs: 250,
    });
  });

  test.each([
    [{ baseUrl: 'ftp://example.com' }, /baseUrl/],
    [{ baseUrl: 'https://user:hunter2@example.com' }, /baseUrl/],
    [{ token: 'hunter2\nx' }, /token/],
    [{ timeoutMs: 0 }, /timeoutMs/],
  ])('refuse %p without its value', (given, message) => {
    expect(() => new SpritesOptions(given)).toThrow(message);
    expect(() => new SpritesOptions(given)).not.toThrow(/hunter2/);
  });

  test('show no token', () => {
    const options = new SpritesOptions({ token: 'hunter2' });
    const text = inspect([options, new SpritesAdapter(options)], { depth: 9 }) + JSON.stringify(options);
    expect(text).not.toContain('hunter2');
    expect(options.token).toBe('hunter2');
  });

  test('decide whether there are checkpoints', () => {
    expect(new SpritesAdapter(new SpritesOptions({})).supports('checkpoint')).toBe(false);
    expect(new SpritesAdapter(new SpritesOptions({ checkpointCreationEnabled: true })).supports('checkpoint')).toBe(
      true,
    );
  });
});
