import { afterAll, test } from '@jest/globals';
import { conformanceCases } from '#libs/conformance';
import { openDaytona } from './targets/daytona.js';
import { CASE_MS } from './targets/target.js';

const target = await openDaytona();
afterAll(async () => await target[Symbol.asyncDispose]());

for (const one of conformanceCases(target.subject)) test(`${one.id} ${one.title}`, () => one.run(), CASE_MS);
