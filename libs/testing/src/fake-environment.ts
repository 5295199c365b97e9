import type { EnvPair } from '#libs/contract';
import { FAKE_HOME } from './fake-files.js';

/** What a caller set, on top of the little that a fake sandbox has of its own. */
export function fakeEnvironment(
  env: readonly EnvPair[],
  dir: string,
  isTerminal: boolean,
): Readonly<Record<string, string>> {
  // Without a prototype, because `__proto__` is an ordinary name there.
  const variables = Object.assign(Object.create(null) as Record<string, string>, {
    HOME: FAKE_HOME,
    PATH: '/usr/bin:/bin',
    PWD: dir,
    ...(isTerminal && { TERM: 'xterm-256color' }),
  });
  for (const [name, value] of env) variables[name] = value;
  return Object.freeze(variables);
}
