export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** What is known beside the message. Never a token, an environment value, an argument or output of a command. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

export type Log = Readonly<Record<LogLevel, (message: string, fields?: LogFields) => void>>;

/** Words that need no quotes. */
const PLAIN = /^[\w.:/@+~-]+$/;
// JSON escapes what is below space; these also move the cursor or hide text on a terminal.
// eslint-disable-next-line no-control-regex
const HIDDEN = /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const MESSAGE_CONTROLS = /\p{Cc}/gu;

/** One line per call, `time level message key=value …`, whatever the values contain. */
export function createLog(level: LogLevel, write: (line: string) => void, now: () => Date = () => new Date()): Log {
  const rank = LOG_LEVELS.indexOf(level);
  const at = (of: LogLevel) =>
    LOG_LEVELS.indexOf(of) > rank
      ? () => {}
      : (message: string, fields: LogFields = {}) => {
          write(
            `${now().toISOString()} ${of} ${escapeHidden(message.replace(MESSAGE_CONTROLS, ' '))}${pairs(fields)}\n`,
          );
        };
  return { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') };
}

export const silentLog: Log = createLog('error', () => {});

function pairs(fields: LogFields): string {
  let text = '';
  for (const [key, value] of Object.entries(fields))
    if (value !== undefined) text += ` ${key}=${quoted(String(value))}`;
  return text;
}

function quoted(value: string): string {
  return PLAIN.test(value) ? value : escapeHidden(JSON.stringify(value));
}

function escapeHidden(text: string): string {
  return text.replace(HIDDEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
