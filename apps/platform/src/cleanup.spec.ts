import { describe, expect, test } from '@jest/globals';
import { Cleanup } from './cleanup.js';

describe('Cleanup', () => {
  test('undoes the newest first, one after the other, whatever fails, and once', async () => {
    const log: string[] = [];
    const cleanup = new Cleanup((message) => log.push(message));
    cleanup.defer('One', async () => log.push('one'));
    cleanup.defer('Two', async () => {
      throw new Error('busy');
    });
    cleanup.defer('Three', async () => {
      await new Promise(setImmediate);
      log.push('three');
    });
    await cleanup[Symbol.asyncDispose]();
    expect(log).toEqual(['three', 'Two failed: busy', 'one']);
    await cleanup[Symbol.asyncDispose]();
    expect(log).toHaveLength(3);
  });
});
