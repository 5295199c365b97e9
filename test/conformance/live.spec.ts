import { describe, expect, test } from '@jest/globals';
import { conformanceCases } from '#libs/conformance';
import { LIVE_SERVICES, liveSubject } from './targets/live.js';

const CASE_MS = 600_000;

describe.each(Object.entries(LIVE_SERVICES))('%s, the real service', (provider, service) => {
  if ((process.env[service.variable] ?? '') === '') {
    // oxlint-disable-next-line jest/no-disabled-tests -- needs an account
    test.skip(`not run: no ${service.variable}`, () => expect.assertions(0));
  } else {
    for (const one of conformanceCases(liveSubject(provider, service))) {
      test(`${one.id} ${one.title}`, () => one.run(), CASE_MS);
    }
  }
});
