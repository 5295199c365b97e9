import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import type { Check } from './check.js';
import type { SpritesBench } from './sprites-bench.js';
import type { Stream, StreamLine } from './sprites-sdk.js';

async function typesOf(stream: Stream<StreamLine>): Promise<string[]> {
  const types: string[] = [];
  for await (const { type } of stream) types.push(type);
  return types;
}

export function stateChecks({ sprite, emulator }: SpritesBench): readonly Check[] {
  const files = sprite.filesystem('/home/sprite');
  return [
    {
      title: 'a policy is taken and read back',
      run: async () => {
        const policy = {
          rules: [
            { domain: '*.example.com', action: 'allow' },
            { domain: '*', action: 'deny' },
          ],
        };
        await sprite.updateNetworkPolicy(policy);
        deepStrictEqual(await sprite.getNetworkPolicy(), policy);
        deepStrictEqual(emulator.sprite('bench')!.policy, policy.rules);
      },
    },
    {
      title: 'a policy with an action that there is not is refused',
      run: async () => {
        await rejects(sprite.updateNetworkPolicy({ rules: [{ domain: '*', action: 'ask' }] }), /400|invalid/);
      },
    },
    {
      title: 'a checkpoint is made and found by its comment',
      run: async () => {
        await files.writeFile('state', 'before');
        deepStrictEqual(await typesOf(await sprite.createCheckpoint('mine')), ['info', 'complete']);
        const found = (await sprite.listCheckpoints()).map(({ id, comment }) => [id, comment]);
        deepStrictEqual(found, [
          ['Current', undefined],
          ['v1', 'mine'],
        ]);
        strictEqual((await sprite.getCheckpoint('v1')).comment, 'mine');
      },
    },
    {
      title: 'a restore brings the files back, ends the sessions, and the next command finds a restart',
      run: async () => {
        await files.writeFile('state', 'after');
        const command = sprite.spawn('sleep', ['100']);
        command.on('error', () => {});
        await new Promise((resolve) => command.once('spawn', resolve));
        deepStrictEqual(await typesOf(await sprite.restoreCheckpoint('v1')), ['info', 'complete']);
        strictEqual(await command.wait(), -1);
        strictEqual(await files.readFile('state', 'utf8'), 'before');
        await rejects(sprite.execFile('true', []), /WebSocket/);
        strictEqual((await sprite.execFile('true', [])).exitCode, 0);
      },
    },
    {
      title: 'a sprite that turned cold keeps its files',
      run: async () => {
        await emulator.pause('bench', 'cold');
        strictEqual(emulator.sprite('bench')!.status, 'cold');
        strictEqual(await files.readFile('state', 'utf8'), 'before');
        strictEqual(emulator.sprite('bench')!.status, 'running');
      },
    },
    {
      title: 'every call carried the token, and none of it was recorded',
      run: async () => {
        ok(emulator.calls.all.every(({ credential }) => credential));
        ok(!JSON.stringify(emulator.calls.all).includes(emulator.token));
      },
    },
  ];
}
