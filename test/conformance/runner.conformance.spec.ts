import { afterAll, test } from '@jest/globals';
import { conformanceCases } from '#libs/conformance';
import { openRunner } from './targets/runner.js';

const target = await openRunner();
afterAll(async () => await target[Symbol.asyncDispose]());

for (const one of conformanceCases(target.subject)) test(`${one.id} ${one.title}`, () => one.run());
