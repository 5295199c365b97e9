import { describe, expect, test } from '@jest/globals';
import { findTag, formatSessionId, newNonce, parseSessionId, processTag } from './session-id.js';

describe('ids of sessions', () => {
  test('hold the id of the provider and a nonce', () => {
    const id = { pid: '19', nonce: newNonce() };
    expect(parseSessionId(formatSessionId(id))).toEqual(id);
    expect(newNonce()).not.toBe(newNonce());
  });

  test.each(['19', '19-abc', `x-${'a'.repeat(32)}`, `19-${'A'.repeat(32)}`, ''])('%p is none of ours', (id) => {
    expect(parseSessionId(id)).toBeUndefined();
  });

  test('are found on a command line by their tag', () => {
    const nonce = newNonce();
    const tag = processTag('d', nonce);
    expect(findTag(`/usr/bin/sh -c x\ny ${tag} npm test`)).toEqual({ kind: 'd', nonce, rest: 'npm test' });
    expect(findTag(`sh ${tag}`)).toEqual({ kind: 'd', nonce });
    expect(findTag(`sh x${tag}`)).toBeUndefined();
    expect(findTag('sh -c true')).toBeUndefined();
  });
});
