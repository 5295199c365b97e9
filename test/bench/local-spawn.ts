// `spawn('true')` in a process that does nothing else, timed from the call to the end of its pipes.
import { spawn } from 'node:child_process';
import { answer } from './helper.js';
import { latencies } from './latencies.js';

export interface SpawnQuestion {
  readonly count: number;
  readonly parallel: number;
}

answer((question) => {
  const { count, parallel } = question as SpawnQuestion;
  return latencies(count, parallel, spawnTrue);
});

function spawnTrue(): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn('true');
    child.stdout.resume();
    child.stderr.resume();
    child.on('error', reject);
    child.on('close', () => resolve());
  });
}
