import { after, test } from 'node:test';
import { conformanceCases } from '#libs/conformance';
import { TARGETS } from './targets/targets.js';

// The suite under Node's own test runner, to show that it needs none in particular.
for (const name of ['fake', 'fake_daemon']) {
  const target = await TARGETS[name]!();
  after(async () => await target[Symbol.asyncDispose]());
  for (const one of conformanceCases(target.subject)) void test(`${name} ${one.id} ${one.title}`, () => one.run());
}
