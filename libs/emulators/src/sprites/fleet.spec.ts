import { existsSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { EmulatorRoot } from '../kit/emulator-root.js';
import { Fleet } from './fleet.js';
import { settingsOf } from './options.js';

let root: EmulatorRoot;

beforeEach(async () => {
  root = await EmulatorRoot.open();
});

afterEach(async () => await root.close());

test('a name is neither free nor seen to be until nothing of the sprite that had it is left', async () => {
  const fleet = new Fleet(settingsOf({}), root, new AbortController().signal);
  const sprite = await fleet.create('a');
  let goOn = () => {};
  const held = sprite.change(() => new Promise<void>((resolve) => (goOn = resolve)));
  const seen: [string, boolean][] = [];
  const see = (what: string) => () => seen.push([what, existsSync(sprite.disk.directory)]);
  const deleted = fleet.delete('a').then(see('deleted'));
  while (!sprite.disk.sealed) await Promise.resolve();
  const all = [
    deleted,
    fleet.settled('a').then(see('gone')),
    fleet.delete('a').catch(see('not there')),
    fleet.create('a').then(see('made anew')),
  ];
  await root.processes.stopAll(sprite.disk.directory);
  expect(seen).toEqual([]);
  goOn();
  await Promise.all([held, ...all]);
  expect(Object.fromEntries(seen)).toEqual({ deleted: false, gone: false, 'not there': false, 'made anew': false });
  await fleet.close();
});
