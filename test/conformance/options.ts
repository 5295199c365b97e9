import { parseArgs } from 'node:util';
import { TARGETS } from './targets/targets.js';

export interface ConformanceOptions {
  /** Names of targets, in the order of the report. */
  readonly targets: readonly string[];
  /** Beginnings of ids; none: all cases. */
  readonly cases: readonly string[];
  readonly json: boolean;
  readonly list: boolean;
  readonly help: boolean;
}

export const HELP = `npm run conformance -- [options]

  --target NAME      one of ${Object.keys(TARGETS).join(', ')}; may be given more than once
  --case ID          only cases whose id begins so, such as STR or STR-004; may be given more than once
  --list             the cases, with their levels and needs
  --json             one JSON document on stdout instead of the table (use npm -s)
  --help             this text

Without --target all run, one after the other.
Exit code: 0 when every MUST holds, 1 when one fails, 2 for bad arguments, 130 after Ctrl-C.
`;

/** @throws {Error} with a message for whoever typed it */
export function readOptions(argv: readonly string[], ids: readonly string[]): ConformanceOptions {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      target: { type: 'string', multiple: true, default: [] },
      case: { type: 'string', multiple: true, default: [] },
      json: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const known = Object.keys(TARGETS);
  const targets = values.target.flatMap((one) => one.split(','));
  const unknown = targets.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`no target is called "${unknown}"; there are ${known.join(', ')}`);
  const cases = values.case.flatMap((one) => one.split(','));
  const missing = cases.find((one) => !ids.some((id) => id.startsWith(one)));
  if (missing !== undefined) throw new Error(`no case begins with "${missing}"; see --list`);
  return {
    targets: known.filter((name) => targets.length === 0 || targets.includes(name)),
    cases,
    json: values.json,
    list: values.list,
    help: values.help,
  };
}
