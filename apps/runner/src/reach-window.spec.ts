import { describe, expect, test } from '@jest/globals';
import { ReachWindow, type Cursor } from './reach-window.js';

const at = (position: number, stdout: number, stderr = 0): Cursor => ({ position, offsets: { stdout, stderr } });

describe('ReachWindow', () => {
  test('keeps the margin behind a reader that moves on', () => {
    const window = new ReachWindow(320);
    const reaches: number[] = [];
    for (let position = 0; position <= 1_000; position += 10) {
      window.note(at(position, position));
      reaches.push(window.reach([at(position, position)]).stdout);
    }
    expect([reaches[0], reaches[32], reaches[33], reaches[100]]).toEqual([0, 0, 10, 680]);
  });

  test('early bytes of a stream that says no more fall behind like the rest', () => {
    const window = new ReachWindow(320);
    window.note(at(0, 0));
    window.note(at(10, 0, 10));
    for (let position = 20; position <= 1_000; position += 10) window.note(at(position, position - 10, 10));
    expect(window.reach([at(1_000, 990, 10)])).toEqual({ stdout: 670, stderr: 10 });
  });

  test('a reader that begins in the middle wants nothing before its beginning', () => {
    const window = new ReachWindow(320);
    window.note(at(5_000, 4_000, 7));
    expect(window.reach([at(5_000, 4_000, 7)])).toEqual({ stdout: 4_000, stderr: 7 });
  });

  test('the slowest reader counts, and nothing that any of them still reads is given up', () => {
    const window = new ReachWindow(320);
    window.note(at(5_000, 5_000));
    window.note(at(100, 100));
    expect(window.reach([at(5_000, 5_000), at(100, 100)])).toEqual({ stdout: 100, stderr: 0 });
    // Positions may lie before what the offsets say: a reader begins with the file that holds its offset.
    window.note(at(90, 150));
    expect(window.reach([at(90, 150), at(100, 100)])).toEqual({ stdout: 100, stderr: 0 });
  });

  test('remembers no more places than the margin needs', () => {
    const window = new ReachWindow(320);
    for (let position = 0; position < 100_000; position++) {
      window.note(at(position, position));
      window.reach([at(position, position)]);
    }
    expect((window as unknown as { marks: unknown[] }).marks.length).toBeLessThanOrEqual(34);
  });
});
