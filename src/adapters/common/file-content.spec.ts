import { describe, expect, test } from '@jest/globals';
import { Deadline } from './deadline.js';
import { gatherContent } from './file-content.js';

describe('the content of a file', () => {
  test('is all that its source gives', async () => {
    using deadline = new Deadline(20_000);
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      yield Buffer.from('a');
      yield Buffer.from('bc');
    };
    expect(Buffer.from(await gatherContent(pieces(), deadline)).toString()).toBe('abc');
    expect(Buffer.from(await gatherContent(Buffer.from('d'), deadline)).toString()).toBe('d');
  });

  test('a source that has no end is let go of when the time is up', async () => {
    const controller = new AbortController();
    using deadline = new Deadline(20_000, controller.signal);
    let letGo = (): void => {};
    const released = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let pieces = 0;
    const endless = async function* (): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          pieces += 1;
          if (pieces === 3) controller.abort('enough');
          yield Buffer.from('x');
          await new Promise((resolve) => setImmediate(resolve));
        }
      } finally {
        letGo();
      }
    };
    await expect(gatherContent(endless(), deadline)).rejects.toMatchObject({ code: 'aborted', effect: 'none' });
    await released;
    expect(pieces).toBe(3);
  });

  test('a source that fails is the caller’s fault', async () => {
    using deadline = new Deadline(20_000);
    const cause = new Error('disk');
    // eslint-disable-next-line require-yield
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      throw cause;
    };
    await expect(gatherContent(failing(), deadline)).rejects.toMatchObject({ code: 'invalid', cause });
  });
});
