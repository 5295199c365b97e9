import { capabilityCases } from './cases/capabilities.js';
import { readFileCases, writeFileCases } from './cases/files.js';
import { handleCases } from './cases/handles.js';
import { lifecycleCases } from './cases/lifecycle.js';
import { checkpointCases, policyCases, publicUrlCases } from './cases/provider.js';
import { suspendCases } from './cases/suspend.js';
import type { ConformanceCase } from './conformance-case.js';

/** The whole suite, by groups. */
export const ALL_CASES: readonly ConformanceCase[] = Object.freeze([
  ...handleCases,
  ...capabilityCases,
  ...lifecycleCases,
  ...suspendCases,
  ...writeFileCases,
  ...readFileCases,
  ...policyCases,
  ...publicUrlCases,
  ...checkpointCases,
]);
