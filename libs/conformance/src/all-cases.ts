import { capabilityCases } from './cases/capabilities.js';
import type { ConformanceCase } from './conformance-case.js';

/** The whole suite, by groups. */
export const ALL_CASES: readonly ConformanceCase[] = Object.freeze([...capabilityCases]);
