import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runConformance } from '#libs/conformance';
import { E2B_ALTERNATIVES, eachAlternative } from '#libs/emulators';
import { openE2b } from './targets/e2b.js';
import type { Target } from './targets/target.js';

type Name = keyof typeof E2B_ALTERNATIVES;

const MAKING = /^(?:LIF-00[1369]|LIF-010|NEW-00[1-5]|FLT-02[0-3])/;
const PAUSING = /^(?:SUS-|POL-004|LST-002)/;
const INPUT = /^(?:STD-0(?:01|02|04|08|11|14|15|19)|SES-)/;

/** What each alternative can change. All of them in their default positions are run by `e2b.conformance.spec.ts`. */
const AFFECTED: Readonly<Record<Name, RegExp>> = {
  v1Paths: /^(?:LIF-00[1369]|NEW-00[1-5]|FLT-02[0-3]|SUS-00[1-4])/,
  v2Paths: /^(?:LIF-00[1369]|NEW-00[1-5]|FLT-02[0-3]|SUS-00[1-4])/,
  unknownFields: /^(?:LIF-001|NEW-001|SUS-00[17]|POL-|EXE-001|STD-001|FIL-001|RDF-007|TTY-003|URL-001)/,
  idSpelling: /^(?:LIF-00[1369]|NEW-00[1-5]|SUS-00[1-4]|LST-|EXE-001)/,
  listAfterCreate: MAKING,
  concurrentConnect: PAUSING,
  resumeBody: PAUSING,
  networkInTransition: /^(?:POL-|SUS-007)/,
  edgeInTransition: PAUSING,
  pausedStreams: PAUSING,
  ghostConnect: PAUSING,
  tagLookup: /^(?:SES-|TER-00[2-7]|TER-01[1-4]|ATT-00|STD-01[3-6]|TTY-01)/,
  exitMemory: /^(?:SES-|TER-008|ATT-00|FLT-00[6-8]|FLT-010|TTY-01)/,
  closedStdin: INPUT,
  outputAfterSignal: /^(?:TER-|EXE-01|SES-01|FLT-011)/,
  endAfterTimeout: /^(?:EXE-01)/,
  zeroTimeout: /^(?:EXE-01)/,
  zeroKeepalive: /^(?:EXE-00[1-3]|STR-00[1-5])/,
  terminalStart: /^TTY-/,
  zeroValues: /^(?:EXE-00[1-9]|RDF-|FIL-001|SES-00|STR-00[1-5]|TTY-00[48])/,
  missingMethod: /^(?:STD-00[1-4]|RDF-)/,
  downloadGzip: /^RDF-/,
};

const others = eachAlternative(E2B_ALTERNATIVES).filter(({ isDefault }) => !isDefault);

describe.each(others)('the E2B adapter where $name is $value', ({ name, choice }) => {
  // Both sides of an alternative about ghosts need ghosts.
  const alternatives = name === 'ghostConnect' ? { ...choice, pausedStreams: 'ghost' as const } : choice;
  let target: Target;
  beforeAll(async () => {
    target = await openE2b({ alternatives });
  });
  afterAll(async () => await target[Symbol.asyncDispose]());

  test('keeps what the alternative could change of the contract', async () => {
    const { results } = await runConformance(target.subject, { only: ({ id }) => AFFECTED[name].test(id) });
    const failed = results.filter(({ outcome }) => outcome === 'failed');
    expect(failed.map(({ failure }) => failure)).toEqual([]);
    expect(results.some(({ outcome }) => outcome === 'passed')).toBe(true);
  }, 180_000);
});
