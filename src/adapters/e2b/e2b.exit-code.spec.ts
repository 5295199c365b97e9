import { describe, expect, test } from '@jest/globals';
import { exitCodeOf } from './e2b.exit-code.js';

describe('the exit code of an end event', () => {
  test.each([
    [{ exited: true, status: 'exit status 0' }, 0],
    [{ exitCode: 0, exited: true, status: 'exit status 0' }, 0],
    [{ status: 'exited' }, 0],
    [{ exitCode: 3, exited: true, status: 'exit status 3', error: 'exit status 3' }, 3],
    [{ exitCode: 255, exited: true }, 255],
    [{ exitCode: -1, status: 'signal: killed', error: 'signal: killed' }, 137],
    [{ exitCode: -1, status: 'signal: terminated' }, 143],
    [{ exitCode: -1, status: 'signal: segmentation fault (core dumped)' }, 139],
  ])('%j is %p', (end, code) => {
    expect(exitCodeOf(end)).toBe(code);
  });

  test.each([
    [{}],
    [{ exited: 'no', status: 7 }],
    [{ exited: true, status: 'exit status 3' }],
    [{ status: 'signal: killed' }],
    [{ exitCode: null, exited: true }],
    [{ exitCode: -1 }],
    [{ exitCode: -1, status: 'signal: something new' }],
    [{ exitCode: -1, status: 'signal: constructor' }],
    [{ exitCode: 256 }],
    [{ exitCode: 1.5 }],
    [{ exitCode: '3' }],
  ])('%j is none', (end) => {
    expect(exitCodeOf(end)).toBeUndefined();
  });
});
