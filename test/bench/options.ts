import { parseArgs } from 'node:util';
import { BENCHMARKS } from './benchmarks.js';

export interface BenchOptions {
  /** Which to run, in the order of the report. */
  readonly names: readonly string[];
  readonly json: boolean;
  readonly list: boolean;
  readonly help: boolean;
  readonly scale: number;
  readonly profileDir?: string;
}

export const HELP = `npm run bench -- [options] [name …]

  --list             what there is, with its targets
  --json             one JSON document on stdout instead of tables (use npm -s)
  --cpu-prof DIR     write a CPU profile of every process into DIR
  --scale FACTOR     smaller sizes for trying out: 0.1 is a tenth
  --help             this text

Without a name all run, one after the other. WS_NO_BUFFER_UTIL=1 turns bufferutil off on both sides.
Exit code: 0 whether or not the targets hold, 1 when a benchmark failed, 2 for bad arguments, 130 after Ctrl-C.
`;

/** @throws {Error} with a message for whoever typed it */
export function readOptions(argv: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      scale: { type: 'string', default: '1' },
      'cpu-prof': { type: 'string' },
    },
  });
  const known = BENCHMARKS.map(({ name }) => name);
  const unknown = positionals.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`no benchmark is called "${unknown}"; there are ${known.join(', ')}`);
  const scale = Number(values.scale);
  if (!(scale > 0 && scale <= 1))
    throw new Error(`--scale: expected a number above 0, at most 1, not "${values.scale}"`);
  const profileDir = values['cpu-prof'];
  return {
    names: known.filter((name) => positionals.length === 0 || positionals.includes(name)),
    json: values.json,
    list: values.list,
    help: values.help,
    scale,
    ...(profileDir !== undefined && { profileDir }),
  };
}
