import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runConformance } from '#libs/conformance';
import { DAYTONA_ALTERNATIVES, eachAlternative } from '#libs/emulators';
import { openDaytona } from './targets/daytona.js';
import type { Target } from './targets/target.js';

type Name = keyof typeof DAYTONA_ALTERNATIVES;

const MAKING = /^(?:LIF-00[1-3]|LIF-009|LIF-010|NEW-|FLT-02[0-3])/;
const GOING = /^(?:LIF-00[6-9]|LIF-01|NEW-003|SES-01[2-4]|STD-016|HAN-007)/;
const PARKING = /^(?:SUS-|POL-004|LST-002)/;
const READING = /^(?:STR-00[134]|SES-00[138]|SES-01[02]|ATT-00[12]|ATT-02[15]|ATT-041|TTY-001|FLT-00[37])/;
/** What no request of this adapter meets. */
const NOTHING = /^(?:LIF-001|EXE-001|SES-001)/;

/** What each alternative can change. All of them in their default positions are run by `daytona.conformance.spec.ts`. */
const AFFECTED: Readonly<Record<Name, RegExp>> = {
  daemon: /^(?:FIL-|RDF-|TTY-|SES-00|STD-00[1-5]|STR-00[134]|ATT-00[12])/,
  createAnswer: MAKING,
  startAnswer: PARKING,
  conflictStatus: /^(?:LIF-|SUS-|NEW-00[34])/,
  nameTaken: MAKING,
  nameAfterDelete: GOING,
  secondDelete: GOING,
  listAfterDelete: /^LST-/,
  cursor: /^(?:LST-|FLT-03[34])/,
  lastCursor: /^(?:LST-|FLT-03[34])/,
  toolboxUrl: /^(?:LIF-001|EXE-001|FIL-001|RDF-001|STD-001|STR-001|TTY-001)/,
  errorFields: /^(?:ERR-|LIF-00[4-7]|NEW-002|RDF-00[34]|ATT-006)/,
  retryAfter: NOTHING,
  networkSettings: /^(?:LIF-001|EXE-001)/,
  networkWhenStopped: /^(?:POL-|SUS-001)/,
  resize: NOTHING,
  brokenSnapshot: NOTHING,
  toolboxWhenGone: GOING,
  toolboxWhenStopping: PARKING,
  toolboxWhenArchived: PARKING,
  execFailure: READING,
  exitCode: READING,
  splitOutput: READING,
  logSocket: READING,
  logFollowOverHttp: READING,
  inputEof: /^(?:STD-00[1-4]|STD-01[49])/,
  executeLimit: /^(?:LIM-00[1-5]|TER-00[46])/,
  range: /^RDF-/,
};

const others = eachAlternative(DAYTONA_ALTERNATIVES).filter(({ isDefault }) => !isDefault);

describe.each(others)('the Daytona adapter where $name is $value', ({ name, choice }) => {
  let target: Target;
  beforeAll(async () => {
    target = await openDaytona(choice);
  });
  afterAll(async () => await target[Symbol.asyncDispose]());

  test('keeps what the alternative could change of the contract', async () => {
    const { results } = await runConformance(target.subject, {
      only: ({ id }) => AFFECTED[name].test(id),
    });
    const failed = results.filter(({ outcome }) => outcome === 'failed');
    expect(failed.map(({ failure }) => failure)).toEqual([]);
    expect(results.some(({ outcome }) => outcome === 'passed')).toBe(true);
  }, 240_000);
});
