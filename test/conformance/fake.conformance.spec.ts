import { afterAll, test } from '@jest/globals';
import { conformanceCases } from '#libs/conformance';
import { openFake } from './targets/fake.js';

const target = await openFake();
afterAll(async () => await target[Symbol.asyncDispose]());

for (const one of conformanceCases(target.subject)) test(`${one.id} ${one.title}`, () => one.run());
