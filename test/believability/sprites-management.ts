import { deepStrictEqual, match, rejects, strictEqual } from 'node:assert/strict';
import type { Check } from './check.js';
import type { SpritesBench } from './sprites-bench.js';

export function managementChecks({ client, emulator }: SpritesBench): readonly Check[] {
  return [
    {
      title: 'a sprite is created with its id, its URL and its settings',
      run: async () => {
        const made = await client.createSprite('made', { urlSettings: { auth: 'public' }, labels: ['x'] });
        match(made.id, /^sprite-[0-9a-f-]{36}$/);
        match(made.url, /^https:\/\/made-[0-9a-f]{5}\.sprites\.app$/);
        deepStrictEqual(made.urlSettings, { auth: 'public', privateAccess: 'admins' });
        deepStrictEqual([made.status, made.labels], ['cold', ['x']]);
        strictEqual((await client.getSprite('made')).id, made.id);
      },
    },
    {
      title: 'a name that is taken is an API error with status 409',
      run: async () => await rejects(client.createSprite('made'), { name: 'APIError', statusCode: 409 }),
    },
    {
      title: 'a sprite that is not there is an API error with status 404 and the text of the service',
      run: async () => {
        await rejects(client.getSprite('none'), { name: 'APIError', statusCode: 404, errorCode: 'sprite not found' });
      },
    },
    {
      title: 'all pages of the listing are followed',
      run: async () => {
        for (const name of ['p1', 'p2', 'p3']) await client.createSprite(name);
        const names = (await client.listAllSprites('p')).map(({ name }) => name);
        deepStrictEqual(names, ['p1', 'p2', 'p3']);
        const page = await client.listSprites({ maxResults: 1 });
        deepStrictEqual([page['hasMore'], page['organizationName'], page['cold']], [true, 'emulator', 5]);
      },
    },
    {
      title: 'settings and labels are changed',
      run: async () => {
        const changed = await client.updateSprite('made', { urlSettings: { auth: 'sprite' }, labels: ['y', 'z'] });
        deepStrictEqual(changed.urlSettings, { auth: 'sprite', privateAccess: 'admins' });
        deepStrictEqual(changed.labels, ['y', 'z']);
      },
    },
    {
      title: 'a sprite is checked',
      run: async () => strictEqual((await client.checkSprite('made')).status, 'healthy'),
    },
    {
      title: 'states are told as lines of JSON',
      run: async () => {
        const names: string[] = [];
        for await (const { name } of await client.watchSprites()) names.push(name);
        deepStrictEqual(names, ['bench', 'made', 'p1', 'p2', 'p3']);
      },
    },
    {
      title: 'a deleted sprite is gone',
      run: async () => {
        await (await client.getSprite('made')).delete();
        await rejects(client.getSprite('made'), { statusCode: 404 });
        deepStrictEqual(emulator.names, ['bench', 'p1', 'p2', 'p3']);
      },
    },
  ];
}
