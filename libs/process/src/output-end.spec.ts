import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { OutputEnd } from './output-end.js';

const LIMITS = { silenceMs: 250, drainMs: 1_000, drainBytes: 1_000 };

let ended: jest.Mock<() => void>;
let output: OutputEnd;

beforeEach(() => {
  jest.useFakeTimers();
  ended = jest.fn<() => void>();
  output = new OutputEnd(LIMITS, ended);
});

afterEach(() => {
  jest.useRealTimers();
});

function pass(ms: number): void {
  jest.advanceTimersByTime(ms);
}

test('ends after silence', () => {
  pass(248);
  expect(ended).not.toHaveBeenCalled();
  pass(5);
  expect(ended).toHaveBeenCalledTimes(1);
});

test('every byte prolongs it, up to a limit of time', () => {
  for (let ms = 0; ms < 1_000; ms += 100) {
    expect(ended).not.toHaveBeenCalled();
    output.data('stdout', 1);
    pass(100);
  }
  pass(5);
  expect(ended).toHaveBeenCalledTimes(1);
});

test('bytes that the poll after a timer finds prolong it', () => {
  setTimeout(() => setImmediate(() => output.data('stdout', 1)), 249);
  pass(250);
  pass(200);
  expect(ended).not.toHaveBeenCalled();
  pass(60);
  expect(ended).toHaveBeenCalledTimes(1);
});

test('ends at a limit of bytes of one stream, after one more poll', () => {
  output.data('stdout', 999);
  output.data('stderr', 999);
  pass(1);
  expect(ended).not.toHaveBeenCalled();
  output.data('stdout', 1);
  expect(ended).not.toHaveBeenCalled();
  pass(5);
  expect(ended).toHaveBeenCalledTimes(1);
});

test('ends at once when told, and only once', () => {
  output.finish();
  output.finish();
  output.data('stdout', 5_000);
  pass(5_000);
  expect(ended).toHaveBeenCalledTimes(1);
  expect(jest.getTimerCount()).toBe(0);
});
