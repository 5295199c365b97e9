import { KEEPER_LIMITS } from '#libs/process';
import { PARENT_VARIABLE, SETTINGS, TOKEN_VARIABLE, type Setting } from './settings.js';

const COLUMN = 24;

export function helpText(version: string): string {
  return `sandbox-runner ${version}

Offers this machine to a platform as a place to run sandboxes: dials out to it,
keeps the connection, and runs what it asks for in directories under one root.
Ends when it gets a signal.

Usage: sandbox-runner --url URL --token-file FILE [options]

Options:
${Object.values(SETTINGS).map(option).join('\n')}
${line('--version', 'Print the version and exit.')}
${line('-h, --help', 'Print this and exit.')}

A flag beats the environment, the environment beats the default; an empty value
counts as not given.

Environment:
${Object.values(SETTINGS)
  .map(({ variable, flag }: Setting) => line(variable ?? '', `as --${flag}`, 30))
  .join('\n')}
${line(TOKEN_VARIABLE, 'The token itself. There is no flag for it: every', 30)}
${line('', 'user of a machine can read the arguments of its', 30)}
${line('', 'processes. Prefer a file with mode 0600. Commands', 30)}
${line('', 'in a sandbox run as the same user as the daemon:', 30)}
${line('', 'what that user can read, they can.', 30)}
${line(PARENT_VARIABLE, '', 30)}
${line('', 'true: end as on SIGTERM when stdin ends. For', 30)}
${line('', 'programs that start the daemon with a pipe there.', 30)}
${line('', 'Default: false', 30)}

Signals:
  SIGTERM, SIGINT, SIGHUP  Say goodbye to the platform, stop what runs (TERM,
                           ${KEEPER_LIMITS.closeGraceMs / 1000} s, KILL; an exec, which can no longer answer, gets
                           KILL), exit 0. A second one kills at once and exits 1.

Exit codes:
  0  stopped by a signal
  1  any other failure
  2  wrong usage
  3  refused by the platform for good: the token or the URL is wrong, or the
     runner was deleted there
  4  another daemon holds the root

Files:
  ROOT/<sandbox>           the directory of a sandbox
  ROOT/.runner             lock, state, sessions and their output

One line per event goes to stderr. Tokens, environment values, arguments and
output of commands are never logged.
`;
}

function option({ flag, value, variable, help }: Setting): string {
  const [first = '', ...rest] = help;
  const lines = [line(`--${flag} ${value}`, first), ...rest.map((text) => line('', text))];
  if (variable !== undefined) lines.push(line('', `Environment: ${variable}`));
  return lines.join('\n');
}

function line(left: string, right: string, column = COLUMN): string {
  return `  ${left.padEnd(column)} ${right}`.trimEnd();
}
