import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runConformance } from '#libs/conformance';
import { SPRITES_ALTERNATIVES, eachAlternative } from '#libs/emulators';
import { openSprites } from './targets/sprites.js';
import type { Target } from './targets/target.js';

type Name = keyof typeof SPRITES_ALTERNATIVES;

const MAKING = /^(?:LIF-00[129]|NEW-00[1-5]|FLT-02[0-3])/;
const LISTED = /^(?:SES-00[1245]|SES-010|TER-00[26]|TTY-01[01])/;
const OUTPUT = /^(?:EXE-00[137]|EXE-013|STR-00[149]|ATT-001|FLT-00[269]|TTY-008)/;
const JOINED = /^(?:SES-008|SES-02[03]|ATT-00[12]|ATT-02[05]|TTY-01[12]|FLT-006)/;
const STOPPED = /^(?:TER-00[2468]|TER-01[37]|LIM-001|STD-015)/;

/** What each alternative can change. All of them in their default positions are run by `sprites.conformance.spec.ts`. */
const AFFECTED: Readonly<Record<Name, RegExp>> = {
  duplicateName: MAKING,
  createStatus: MAKING,
  createBody: MAKING,
  initialStatus: /^(?:LIF-00[12]|LST-|SUS-00[13])/,
  spriteId: /^(?:NEW-|HAN-00[47]|LIF-00[19]|CHK-001)/,
  timeNames: /^(?:LIF-001|SUS-001)/,
  listEntries: /^(?:LST-|FLT-03[34])/,
  deleteStatus: /^(?:LIF-00[678]|LIF-011|FLT-02[56]|SES-012)/,
  sessionId: LISTED,
  sessionList: LISTED,
  sessionCreated: /^(?:EXE-001|STR-001|SES-004|ATT-001|TTY-001)/,
  sessionSize: /^TTY-0(?:0[1237]|1[01])/,
  debugFrame: /^(?:EXE-00[13]|STR-00[14]|ATT-001|TTY-00[18]|TTY-011)/,
  env: /^PRO-00[57]/,
  missingDirectory: /^PRO-01[012]/,
  startFailure: /^(?:EXE-00[789]|STR-010)/,
  earlyOutput: OUTPUT,
  stderrStream: OUTPUT,
  textExit: OUTPUT,
  signalCapability: /^(?:TER-00[24]|TTY-009)/,
  replayBytes: JOINED,
  replayedStderr: JOINED,
  terminalReplay: /^TTY-0(?:08|1[0-3])/,
  attachByPath: JOINED,
  detachableAlone: /^(?:SES-00[89]|SES-023|STR-02[15]|FLT-00[67])/,
  slowClient: /^(?:STR-01[46]|ATT-008)/,
  killAfterExit: STOPPED,
  killExitCode: STOPPED,
  killBody: STOPPED,
  parentDirectories: /^FIL-0(?:0[1-6]|10)/,
  range: /^(?:RDF-00[1-4]|FIL-009)/,
  policyStatus: /^POL-/,
  runningLimit: /^(?:LIF-00[12]|EXE-001|SUS-004)/,
  checkpointDeleteStatus: /^CHK-00[12]/,
  restoreBackup: /^CHK-00[12]/,
};

const others = eachAlternative(SPRITES_ALTERNATIVES).filter(({ isDefault }) => !isDefault);

describe.each(others)('the Sprites adapter where $name is $value', ({ name, choice }) => {
  let target: Target;
  beforeAll(async () => {
    target = await openSprites(choice);
  });
  afterAll(async () => await target[Symbol.asyncDispose]());

  test('keeps what the alternative could change of the contract', async () => {
    const { results } = await runConformance(target.subject, { only: ({ id }) => AFFECTED[name].test(id) });
    const failed = results.filter(({ outcome }) => outcome === 'failed');
    expect(failed.map(({ failure }) => failure)).toEqual([]);
    expect(results.some(({ outcome }) => outcome === 'passed')).toBe(true);
  }, 180_000);
});
