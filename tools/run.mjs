// One child process, waited for.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Runs a program to its end and gives its exit code (128 + n after a signal). Signals that reach this process while
 * it runs are passed on and reported as `interrupted`: the child decides when to end, so that nothing is left behind.
 */
export function run(program, args, options) {
  return new Promise((resolve, reject) => {
    let interrupted;
    const child = spawn(program, args, options);
    const forward = (signal) => {
      interrupted = signal;
      child.kill(signal);
    };
    for (const signal of FORWARDED) process.on(signal, forward);
    const settle = () => {
      for (const signal of FORWARDED) process.off(signal, forward);
    };
    child.once('error', (error) => {
      settle();
      reject(error);
    });
    child.once('close', (code, signal) => {
      settle();
      resolve({ code: code ?? 128 + (constants.signals[signal] ?? 0), interrupted });
    });
  });
}

/** The exit code of a process that a signal ended. */
export function codeOf(signal) {
  return 128 + (constants.signals[signal] ?? 0);
}
