import { describe, expect, test } from '@jest/globals';
import { RecordLines } from './record-lines.js';

const BYTES = Buffer.from([0, 1, 10, 64, 255]);
const TEXT = `@o 0 5\n${BYTES.toString('base64')}\n@e 3 2\n 00 ff\n@x 0 5 2 -\n`;
const RECORDS = Buffer.concat([Buffer.from('@o 0 5\n'), BYTES, Buffer.from('@e 3 2\n\0\xff@x 0 5 2 -\n', 'latin1')]);

describe('records in lines of text', () => {
  test('are those that they stand for, in base64 and in hexadecimal', () => {
    expect(new RecordLines().push(Buffer.from(TEXT))).toEqual(RECORDS);
  });

  test('are the same wherever they are cut', () => {
    const whole = Buffer.from(TEXT);
    for (let cut = 0; cut <= whole.length; cut += 1) {
      const lines = new RecordLines();
      const parts = [lines.push(whole.subarray(0, cut)), lines.push(whole.subarray(cut))];
      expect(Buffer.concat(parts)).toEqual(RECORDS);
    }
  });

  test('say nothing of a line that has no end', () => {
    const lines = new RecordLines();
    expect(lines.push(Buffer.from('@x 0 5 2 -'))).toHaveLength(0);
    expect(lines.push(Buffer.from('\n')).toString()).toBe('@x 0 5 2 -\n');
  });
});
