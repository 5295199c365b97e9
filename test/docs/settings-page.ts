import { SETTINGS, TOKEN_VARIABLE } from '../../apps/runner/src/settings.js';
import { SETTINGS_CLASSES, settingsIn, type KnownSetting } from './settings.js';
import { code, spaced, table } from './table.js';

/** `docs/SETTINGS.md`. */
export function settingsPage(): string {
  return `# Settings

## Of the modules

Each can be given as an option of \`forRoot\`, or by the \`useFactory\` of \`forRootAsync\`; those of an adapter go to its
options class, such as \`new SpritesOptions({ … })\`. Each can also be set by an environment variable, which the modules
read through \`@nestjs/config\` and the adapters directly. An option beats the environment, which beats the default;
\`undefined\`, \`null\` and \`''\` count as unset. A wrong value keeps the application from starting, with one message that
names every setting at fault. Times are in milliseconds.

${SETTINGS_CLASSES.map((one) => `### ${one.module}\n\n${moduleTable(settingsIn(one))}`).join('\n\n')}

What can only be given in code, such as adapters, hosts and paths, is described at the options of the modules.

## Of the daemon

A flag beats the environment, which beats the default; an empty value counts as unset. \`sandbox-runner --help\` has the
same with more words.

${table(
  ['flag', 'environment', 'meaning'],
  Object.values(SETTINGS).map(({ flag, value, variable, help }) => [
    code(`--${flag} ${value}`),
    code(variable),
    help.join(' '),
  ]),
)}

\`${TOKEN_VARIABLE}\` holds the token itself, instead of a file. There is no flag for it: every user of a machine can read
the arguments of its processes.
`;
}

function moduleTable(settings: readonly KnownSetting[]): string {
  return table(
    ['option', 'environment', 'default', 'range', 'meaning'],
    settings.map(({ key, environment, doc, least, most }) => [
      code(key),
      code(environment),
      doc?.byDefault ?? '',
      least === undefined || most === undefined ? '' : `${spaced(least)}–${spaced(most)}`,
      doc?.text ?? '',
    ]),
  );
}
