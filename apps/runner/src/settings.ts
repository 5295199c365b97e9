/** A setting of the daemon: a flag, a variable of the environment, a default. */
export interface Setting {
  readonly flag: string;
  /** What stands after the flag in the help. */
  readonly value: string;
  readonly variable?: string;
  readonly help: readonly string[];
}

export const TOKEN_VARIABLE = 'SANDBOX_RUNNER_TOKEN';

/** For programs that start the daemon: `true` ends it, as SIGTERM does, when its stdin ends. */
export const PARENT_VARIABLE = 'SANDBOX_RUNNER_EXIT_WITH_PARENT';

export const SETTINGS = {
  url: {
    flag: 'url',
    value: 'URL',
    variable: 'SANDBOX_RUNNER_URL',
    help: ['Base URL of the platform, http or https. Required.'],
  },
  tokenFile: {
    flag: 'token-file',
    value: 'FILE',
    variable: 'SANDBOX_RUNNER_TOKEN_FILE',
    help: ["File that holds this runner's token. Required, unless", `${TOKEN_VARIABLE} holds the token itself.`],
  },
  root: {
    flag: 'root',
    value: 'DIR',
    variable: 'SANDBOX_RUNNER_ROOT',
    help: [
      'Where sandboxes live; created with mode 0700. One that',
      'exists must be empty, or have been a root before.',
      'Default: ~/.sandbox-runner',
    ],
  },
  name: {
    flag: 'name',
    value: 'NAME',
    variable: 'SANDBOX_RUNNER_NAME',
    help: ['Name shown by the platform. Default: the host name'],
  },
  logLevel: {
    flag: 'log-level',
    value: 'LEVEL',
    variable: 'SANDBOX_RUNNER_LOG_LEVEL',
    help: ['error, warn, info or debug. Default: info'],
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;
