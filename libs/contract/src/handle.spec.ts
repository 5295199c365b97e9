import { expect, test } from '@jest/globals';
import { isProviderTag, parseHandle, sandboxHandle } from './handle.js';

test('a handle is frozen, has only what it was given, and survives JSON', () => {
  const handle = sandboxHandle('e2b', 'box', 'i-1');
  expect(Object.isFrozen(handle)).toBe(true);
  expect(Object.keys(sandboxHandle('e2b', 'box'))).toEqual(['provider', 'name']);
  expect(parseHandle(JSON.parse(JSON.stringify(handle)))).toEqual(handle);
});

test('parsing keeps nothing else', () => {
  const parsed = parseHandle({ provider: 'e2b', name: 'box', token: 'hunter2' });
  expect(parsed).toEqual({ provider: 'e2b', name: 'box' });
  expect(Object.isFrozen(parsed)).toBe(true);
});

test.each([
  undefined,
  null,
  'box',
  5,
  [],
  {},
  { provider: 'e2b' },
  { name: 'box' },
  { provider: 'E2B', name: 'box' },
  { provider: 'e2b', name: '' },
  { provider: 'e2b', name: 5 },
  { provider: 'e2b', name: 'box', instanceId: 5 },
  { provider: 'e2b', name: 'box', instanceId: null },
])('%p is no handle', (value) => {
  expect(() => parseHandle(value)).toThrow(
    expect.objectContaining({ code: 'invalid', detail: 'argument', effect: 'none' }),
  );
});

test.each([
  ['sprites', true],
  ['e2b', true],
  ['my_own_2', true],
  ['', false],
  ['2b', false],
  ['Sprites', false],
  ['a-b', false],
  ['a\n', false],
])('%p as a provider tag: %p', (tag, expected) => {
  expect(isProviderTag(tag)).toBe(expected);
});
