import { capabilityMutants } from './capabilities.js';
import { execMutants } from './exec.js';
import { callFaultMutants } from './faults.js';
import { fileMutants } from './files.js';
import { identityMutants } from './identity.js';
import { lifecycleMutants } from './lifecycle.js';
import { limitMutants } from './limits.js';
import type { Mutant } from './mutant.js';
import { outputMutants } from './output.js';
import { processMutants } from './processes.js';
import { checkpointMutants, policyMutants, publicUrlMutants } from './provider.js';
import { readerMutants } from './readers.js';
import { replayMutants } from './replay.js';
import { sessionMutants } from './sessions.js';
import { stdinMutants } from './stdin.js';
import { terminationMutants } from './terminate.js';
import { terminalMutants } from './terminals.js';
import { wireMutants } from './wire.js';

/** Every mutant of the suite. */
export const ALL_MUTANTS: readonly Mutant[] = [
  ...identityMutants,
  ...capabilityMutants,
  ...lifecycleMutants,
  ...execMutants,
  ...processMutants,
  ...limitMutants,
  ...outputMutants,
  ...readerMutants,
  ...stdinMutants,
  ...fileMutants,
  ...policyMutants,
  ...publicUrlMutants,
  ...checkpointMutants,
  ...sessionMutants,
  ...replayMutants,
  ...terminationMutants,
  ...terminalMutants,
  ...callFaultMutants,
  ...wireMutants,
];
