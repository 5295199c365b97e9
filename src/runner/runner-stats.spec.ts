import { expect, test } from '@jest/globals';
import { loadOf } from './runner-stats.js';

const connection = (pending: number, unsent: number, sessions: number, queuedBytes: number) => ({
  stats: () => ({
    pending,
    unsent,
    sessions,
    queuedBytes,
    subscribers: 0,
    stale: 0,
    unknown: 0,
    timers: 0,
    registryFailures: 0,
  }),
});

test('what connections have to do is summed up, and the fullest queue is told', () => {
  expect(loadOf([])).toEqual({
    pendingRequests: 0,
    unsentRequests: 0,
    sessions: 0,
    queuedBytes: 0,
    maxQueuedBytes: 0,
  });
  expect(loadOf([connection(1, 2, 3, 4), connection(10, 20, 30, 40), connection(0, 0, 0, 5)])).toEqual({
    pendingRequests: 11,
    unsentRequests: 22,
    sessions: 33,
    queuedBytes: 49,
    maxQueuedBytes: 40,
  });
});
