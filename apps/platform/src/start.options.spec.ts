import { describe, expect, test } from '@jest/globals';
import { listenOptions } from './listen-options.js';
import { parseStartOptions } from './start.options.js';

describe('npm start', () => {
  test.each([
    [[], { mode: 'serve' }],
    [['--help'], { mode: 'help' }],
    [['-h'], { mode: 'help' }],
    [['--run', 'echo hi'], { mode: 'run', command: 'echo hi' }],
    [['--run', '--help'], { mode: 'run', command: '--help' }],
    [['--run', ''], { mode: 'run', command: '' }],
    [['--run=a=b c'], { mode: 'run', command: 'a=b c' }],
    [['--run'], { mode: 'refused', problem: '--run needs a command' }],
    [['--run', 'a', 'b'], { mode: 'refused', problem: 'unexpected argument after the command' }],
    [['--run=a', 'b'], { mode: 'refused', problem: 'unexpected argument after the command' }],
    [['--runs', 'a'], { mode: 'refused', problem: 'unknown option --runs' }],
    [['echo hi'], { mode: 'refused', problem: 'unknown option echo hi' }],
  ])('reads %j as %j', (argv, options) => {
    expect(parseStartOptions(argv)).toEqual(options);
  });

  test.each([
    [{}, { host: '127.0.0.1', port: 0 }],
    [
      { HOST: '', PORT: '' },
      { host: '127.0.0.1', port: 0 },
    ],
    [
      { HOST: '0.0.0.0', PORT: '65535' },
      { host: '0.0.0.0', port: 65_535 },
    ],
  ])('with the environment %j listens on %j', (environment, options) => {
    expect(listenOptions(environment)).toEqual(options);
  });

  test.each(['-1', '65536', '1e3', '80a', '0x50', '1.5'])('refuses PORT=%s', (port) => {
    expect(() => listenOptions({ PORT: port })).toThrow('PORT: expected a number from 0 to 65535');
  });
});
