import { afterAll, expect, test } from '@jest/globals';
import { conformanceCases } from 'nestjs-sandbox/conformance';
import { localSubject } from './local.subject.js';

const { subject, close } = await localSubject();
afterAll(close);

for (const one of conformanceCases(subject)) {
  test(`${one.id} ${one.title}`, () => expect(one.run()).resolves.toBeUndefined());
}
