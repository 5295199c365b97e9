import { atTermCases } from './cases/at-term.js';
import { attachAtOnceCases } from './cases/attach-at-once.js';
import { attachOffsetCases } from './cases/attach-offsets.js';
import { attachCases } from './cases/attach.js';
import { boundaryCases } from './cases/boundaries.js';
import { capabilityCases } from './cases/capabilities.js';
import { contentCases } from './cases/content.js';
import { endTellingCases } from './cases/ends-told.js';
import { execArgumentCases } from './cases/exec-arguments.js';
import { fedExecCases } from './cases/exec-fed.js';
import { execStdinCases } from './cases/exec-stdin.js';
import { execCases } from './cases/exec.js';
import { callFaultCases } from './cases/faults-calls.js';
import { outputFaultCases } from './cases/faults-output.js';
import { stallCases } from './cases/faults-stalls.js';
import { faultTellingCases } from './cases/faults-told.js';
import { fileTellingCases } from './cases/files-told.js';
import { readFileCases, writeFileCases } from './cases/files.js';
import { handleCases } from './cases/handles.js';
import { incarnationCases } from './cases/incarnations.js';
import { lateReaderCases } from './cases/late-readers.js';
import { lettingGoCases } from './cases/letting-go.js';
import { lifecycleCases } from './cases/lifecycle.js';
import { limitCases } from './cases/limits.js';
import { nameCases } from './cases/names.js';
import { otherClientCases } from './cases/other-clients.js';
import { ownershipCases } from './cases/ownership.js';
import { processCases } from './cases/processes.js';
import { checkpointCases, policyCases, publicUrlCases } from './cases/provider.js';
import { remnantCases } from './cases/remnants.js';
import { sessionStdinCases } from './cases/session-stdin.js';
import { sessionCases } from './cases/sessions.js';
import { heldStdinCases } from './cases/stdin-held.js';
import { stdinCases } from './cases/stdin.js';
import { streamingFlowCases } from './cases/streaming-flow.js';
import { streamingReaderCases } from './cases/streaming-readers.js';
import { streamingCases } from './cases/streaming.js';
import { suspendCases } from './cases/suspend.js';
import { suspendedCases } from './cases/suspended.js';
import { terminalCases } from './cases/terminals.js';
import { terminateCases } from './cases/terminate.js';
import type { ConformanceCase } from './conformance-case.js';

/** The whole suite, by groups. */
export const ALL_CASES: readonly ConformanceCase[] = Object.freeze([
  ...handleCases,
  ...capabilityCases,
  ...lifecycleCases,
  ...suspendCases,
  ...execCases,
  ...execArgumentCases,
  ...processCases,
  ...execStdinCases,
  ...limitCases,
  ...streamingCases,
  ...streamingFlowCases,
  ...streamingReaderCases,
  ...stdinCases,
  ...heldStdinCases,
  ...writeFileCases,
  ...readFileCases,
  ...policyCases,
  ...publicUrlCases,
  ...checkpointCases,
  ...sessionCases,
  ...sessionStdinCases,
  ...attachCases,
  ...attachOffsetCases,
  ...attachAtOnceCases,
  ...terminateCases,
  ...terminalCases,
  ...outputFaultCases,
  ...callFaultCases,
  ...stallCases,
  ...incarnationCases,
  ...otherClientCases,
  ...boundaryCases,
  ...ownershipCases,
  ...remnantCases,
  ...nameCases,
  ...contentCases,
  ...fileTellingCases,
  ...suspendedCases,
  ...atTermCases,
  ...lettingGoCases,
  ...endTellingCases,
  ...lateReaderCases,
  ...fedExecCases,
  ...faultTellingCases,
]);
