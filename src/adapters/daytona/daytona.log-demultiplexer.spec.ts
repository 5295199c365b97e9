import { describe, expect, test } from '@jest/globals';
import { LogDemultiplexer } from './daytona.log-demultiplexer.js';

/** What comes out of these pieces, by stream. */
function demultiplexed(...pieces: readonly Buffer[]): { stdout: string; stderr: string } {
  const streams = { stdout: '', stderr: '' };
  const log = new LogDemultiplexer((stream, data) => {
    streams[stream] += Buffer.from(data).toString('latin1');
  });
  for (const piece of pieces) log.push(piece);
  return streams;
}

const LOG = Buffer.from('\x01\x01\x01one\n\x02\x02\x02bad\n\x01\x01\x01two\n\x02\x02\x02\x01\x01\x01three\n', 'latin1');

describe('the log of a session', () => {
  test('is told apart by its markers', () => {
    expect(demultiplexed(LOG)).toEqual({ stdout: 'one\ntwo\nthree\n', stderr: 'bad\n' });
  });

  test('is told apart the same wherever it is cut', () => {
    for (let first = 0; first <= LOG.length; first += 1) {
      for (let second = first; second <= LOG.length; second += 1) {
        const pieces = [LOG.subarray(0, first), LOG.subarray(first, second), LOG.subarray(second)];
        expect(demultiplexed(...pieces)).toEqual({ stdout: 'one\ntwo\nthree\n', stderr: 'bad\n' });
      }
    }
  });

  test('is stdout where it has no marker', () => {
    expect(demultiplexed(Buffer.from('merged\n'))).toEqual({ stdout: 'merged\n', stderr: '' });
  });

  test('keeps single bytes that look like a part of a marker', () => {
    const odd = Buffer.from('\x01\x01\x01a\x01b\x02\x02c\x01\x02\n', 'latin1');
    expect(demultiplexed(odd)).toEqual({ stdout: 'a\x01b\x02\x02c\x01\x02\n', stderr: '' });
    expect(demultiplexed(...Array.from(odd, (byte) => Buffer.of(byte)))).toEqual(demultiplexed(odd));
  });
});
