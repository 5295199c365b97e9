import { describe, expect, test } from '@jest/globals';
import { IsBoolean, IsInt, IsOptional, IsString, Min } from 'class-validator';
import { readEnvironment, resolveSettings } from './resolve-settings.js';
import { Setting } from './setting.js';

class Example {
  @Setting('EXAMPLE_WAIT_MS', 'number')
  @IsInt()
  @Min(1)
  readonly waitMs: number = 250;

  @Setting('EXAMPLE_ON', 'boolean')
  @IsBoolean()
  readonly on: boolean = true;

  @Setting('EXAMPLE_SECRET', 'text')
  @IsOptional()
  @IsString()
  readonly secret?: string;
}

const withEnvironment = (env: Record<string, string | undefined>, options = {}): Example =>
  resolveSettings(Example, options, readEnvironment(Example, env));

describe('settings', () => {
  test('take an option before the environment, and that before the default', () => {
    expect(withEnvironment({}).waitMs).toBe(250);
    expect(withEnvironment({ EXAMPLE_WAIT_MS: '40' }).waitMs).toBe(40);
    expect(withEnvironment({ EXAMPLE_WAIT_MS: '40' }, { waitMs: 7 }).waitMs).toBe(7);
    expect(withEnvironment({ EXAMPLE_WAIT_MS: '40' }, { on: false })).toEqual({ waitMs: 40, on: false });
  });

  test.each([undefined, null, ''])('count %p as unset', (unset) => {
    expect(withEnvironment({ EXAMPLE_WAIT_MS: '40' }, { waitMs: unset }).waitMs).toBe(40);
    expect(withEnvironment({ EXAMPLE_WAIT_MS: '' }, { waitMs: unset }).waitMs).toBe(250);
  });

  test.each([
    ['false', false],
    ['0', false],
    ['FALSE', false],
    ['true', true],
    [' 1 ', true],
  ])('read the text %p as the boolean %p', (text, value) => {
    expect(withEnvironment({ EXAMPLE_ON: text }, {}).on).toBe(value);
    expect(withEnvironment({}, { on: text }).on).toBe(value);
  });

  test('are frozen', () => {
    expect(Object.isFrozen(withEnvironment({}))).toBe(true);
  });

  test.each([
    [{ EXAMPLE_WAIT_MS: 'soon' }, {}, /- waitMs must be an integer number \(from EXAMPLE_WAIT_MS\)/],
    [{ EXAMPLE_WAIT_MS: '1e3' }, {}, /waitMs must be an integer number/],
    [{ EXAMPLE_WAIT_MS: '0x10' }, {}, /waitMs must be an integer number/],
    [{ EXAMPLE_WAIT_MS: '0' }, {}, /waitMs must not be less than 1 \(from EXAMPLE_WAIT_MS\)/],
    [{}, { waitMs: 1.5 }, /waitMs must be an integer number \(given as an option\)/],
    [{ EXAMPLE_ON: 'maybe' }, {}, /on must be a boolean value \(from EXAMPLE_ON\)/],
    [{}, { on: 1 }, /on must be a boolean value/],
    [{}, { secret: 12 }, /secret must be a string/],
  ])('refuse %p with options %p', (env, options, message) => {
    expect(() => withEnvironment(env, options)).toThrow(message);
  });

  test('are refused in one message that holds no value', () => {
    const attempt = (): Example => withEnvironment({ EXAMPLE_WAIT_MS: 'hunter2', EXAMPLE_ON: 'hunter2' });
    expect(attempt).toThrow(/^Invalid Example:\n {2}- waitMs .*\n {2}- on .*$/);
    expect(attempt).not.toThrow(/hunter2/);
  });
});
