import { atTermMutants } from './at-term.js';
import { boundaryMutants } from './boundaries.js';
import { capabilityMutants } from './capabilities.js';
import { contentMutants } from './content.js';
import { endTellingMutants } from './ends-told.js';
import { fedExecMutants } from './exec-fed.js';
import { execMutants } from './exec.js';
import { callFaultMutants } from './faults.js';
import { fileTellingMutants } from './files-told.js';
import { fileMutants } from './files.js';
import { identityMutants } from './identity.js';
import { incarnationMutants } from './incarnations.js';
import { lateReaderMutants } from './late-readers.js';
import { lettingGoMutants } from './letting-go.js';
import { lifecycleMutants } from './lifecycle.js';
import { limitMutants } from './limits.js';
import { memoryMutants } from './memories.js';
import type { Mutant } from './mutant.js';
import { nameMutants } from './names.js';
import { outputMutants } from './output.js';
import { ownershipMutants } from './ownership.js';
import { processMutants } from './processes.js';
import { checkpointMutants, policyMutants, publicUrlMutants } from './provider.js';
import { readerMutants } from './readers.js';
import { remnantMutants } from './remnants.js';
import { replayMutants } from './replay.js';
import { sessionMutants } from './sessions.js';
import { stdinMutants } from './stdin.js';
import { suspendedMutants } from './suspended.js';
import { terminalMutants } from './terminals.js';
import { terminationMutants } from './terminate.js';
import { wireMutants } from './wire.js';

/** Every mutant of the suite. */
export const ALL_MUTANTS: readonly Mutant[] = [
  ...identityMutants,
  ...incarnationMutants,
  ...memoryMutants,
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
  ...boundaryMutants,
  ...ownershipMutants,
  ...remnantMutants,
  ...suspendedMutants,
  ...nameMutants,
  ...lettingGoMutants,
  ...fileTellingMutants,
  ...endTellingMutants,
  ...contentMutants,
  ...atTermMutants,
  ...lateReaderMutants,
  ...fedExecMutants,
];
