import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';

export interface ChaosOptions {
  /** Everything that is drawn is drawn from it. */
  readonly seed: number;
  /** From the first session to the report; a hang is waited for beyond it. */
  readonly seconds: number;
  readonly daemons: number;
  /** At once. */
  readonly sessions: number;
  readonly json: boolean;
  readonly help: boolean;
}

export const HELP = `npm run chaos -- [options]

  --seed N        what is drawn, is drawn from this; default: a new one, which is printed
  --seconds N     how long, 5 to 3600; default: 60
  --daemons N     1 to 50; default: 4
  --sessions N    how many at once, 1 to 2000; default: 200
  --json          one JSON document on stdout (use npm -s)
  --help          this text

Exit code: 0 when every counter is 0, 1 when one is not or the run failed, 2 for bad arguments, 130 after Ctrl-C.
`;

const MOST_SEED = 2 ** 31 - 1;

/** @throws {Error} with a message for whoever typed it */
export function readOptions(argv: readonly string[]): ChaosOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seed: { type: 'string' },
      seconds: { type: 'string', default: '60' },
      daemons: { type: 'string', default: '4' },
      sessions: { type: 'string', default: '200' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  return {
    seed: values.seed === undefined ? randomInt(MOST_SEED) : whole('seed', values.seed, 0, MOST_SEED),
    seconds: whole('seconds', values.seconds, 5, 3600),
    daemons: whole('daemons', values.daemons, 1, 50),
    sessions: whole('sessions', values.sessions, 1, 2000),
    json: values.json,
    help: values.help,
  };
}

function whole(name: string, text: string, least: number, most: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new Error(`--${name}: expected a whole number from ${least} to ${most}, not "${text}"`);
}
