import { afterAll, test } from '@jest/globals';
import { conformanceCases } from '#libs/conformance';
import { openE2b } from './targets/e2b.js';
import { CASE_MS } from './targets/target.js';

const target = await openE2b();
afterAll(async () => await target[Symbol.asyncDispose]());

for (const one of conformanceCases(target.subject)) test(`${one.id} ${one.title}`, () => one.run(), CASE_MS);
