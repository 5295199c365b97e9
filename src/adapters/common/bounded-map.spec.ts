import { expect, test } from '@jest/globals';
import { BoundedMap } from './bounded-map.js';

test('the oldest key goes when there are too many, and a key that is set again is no more', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  map.set('a', 3);
  expect([map.size, map.get('a'), map.get('b')]).toEqual([2, 3, 2]);
  map.set('c', 4);
  expect([map.size, map.has('a'), map.get('a'), map.get('b'), map.get('c')]).toEqual([2, false, undefined, 2, 4]);
  map.delete('b');
  expect([map.size, map.has('b')]).toEqual([1, false]);
});
