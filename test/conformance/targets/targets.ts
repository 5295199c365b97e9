import { openDaytona } from './daytona.js';
import { openE2b } from './e2b.js';
import { openFakeDaemon } from './fake-daemon.js';
import { openFake } from './fake.js';
import { openRunner } from './runner.js';
import { openOtherSprites, openSprites } from './sprites.js';
import type { OpenTarget } from './target.js';

/** Everything that the suite is run on here, by the name of the target. */
export const TARGETS: Readonly<Record<string, OpenTarget>> = {
  fake: openFake,
  fake_daemon: () => openFakeDaemon(),
  runner: openRunner,
  sprites: () => openSprites(),
  sprites_other: openOtherSprites,
  e2b: () => openE2b(),
  daytona: () => openDaytona(),
};
