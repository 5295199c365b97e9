import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { digest, sha256 } from '../support/collect.js';
import { refusal, words } from '../support/errors.js';
import { residentBytes } from '../support/processes.js';
import { settles, until } from '../support/until.js';
import { Stage } from './stage.js';

const MiB = 1024 * 1024;
/** What the heap of an idle daemon may grow by on a busy machine; keeping the output would take several times as much. */
const GROWTH = 128 * MiB;
const OUTPUT_LIMIT = { code: 'truncated', detail: 'output_limit' };

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.set();
  await stage.sh('true');
});

afterAll(async () => {
  await stage?.[Symbol.asyncDispose]();
});

/** Runs `action` and gives the most memory that the daemon had resident meanwhile, beyond what it had before. */
async function growthDuring(action: () => Promise<void>): Promise<number> {
  const before = await residentBytes(stage.daemon.pid);
  let most = before;
  const over = new AbortController();
  const watch = until(
    'the action is over',
    async () => {
      most = Math.max(most, await residentBytes(stage.daemon.pid));
      return over.signal.aborted;
    },
    { everyMs: 100, withinMs: 120_000 },
  );
  await action().finally(() => over.abort());
  await watch;
  return most - before;
}

test('bug 6: three noisy execs at once end at the cap, in bounded memory, and a stream beside them goes on', async () => {
  const bystander = await stage.spawnSh('while read line; do echo "heard $line"; done', { stdin: true });
  const heard = digest(bystander);
  const growth = await growthDuring(async () => {
    const noisy = [
      stage.sh('head -c 200000000 /dev/zero'),
      stage.sh('head -c 700000000 /dev/zero'),
      stage.sh('yes', { timeoutMs: 5_000 }),
    ];
    await bystander.writeStdin('one\n');
    for (const call of noisy) expect(await refusal(call)).toMatchObject(OUTPUT_LIMIT);
  });
  expect(growth).toBeLessThan(GROWTH);
  await bystander.writeStdin('two\n');
  await bystander.closeStdin();
  expect((await heard).stdout.sha256).toBe(sha256(Buffer.from('heard one\nheard two\n')));
});

test('bug 8: 20 sessions that nobody reads stay within the queues, hold up no other, and lose nothing', async () => {
  const bytes = 20_000_000;
  const growth = await growthDuring(async () => {
    const commands = await Promise.all(
      Array.from({ length: 20 }, () =>
        stage.app.sandboxes.spawn(stage.handle, 'head', ['-c', `${bytes}`, '/dev/zero']),
      ),
    );
    await until('every queue is full', () => stage.app.gateway.stats().queuedBytes >= 20 * 4 * MiB);
    expect((await settles('an exec beside them', stage.sh('echo free'), 5_000)).text()).toBe('free\n');
    expect(stage.app.gateway.stats().queuedBytes).toBeLessThan(20 * (4 * MiB + 256 * 1024));
    const expected = { bytes, sha256: sha256(Buffer.alloc(bytes)) };
    for (const command of commands) {
      const { stdout, exit } = await digest(command);
      expect([stdout, exit]).toEqual([expected, { exitCode: 0 }]);
    }
  });
  expect(growth).toBeLessThan(GROWTH);
}, 120_000);

test('bug 41: 600 MB of output that nobody follows are kept up to the cap of the journal, on disk', async () => {
  const script = 'read go; head -c 600000000 /dev/zero; echo end >&2; exit 3';
  const command = await stage.spawnSh(script, { stdin: true, detachable: true });
  const id = command.sessionId as string;
  const growth = await growthDuring(async () => {
    await command.writeStdin('go\n');
    await command.stop();
    await until('it has ended', async () => (await stage.app.sandboxes.listSessions(stage.handle)).length === 0, {
      withinMs: 60_000,
      everyMs: 100,
    });
  });
  expect(growth).toBeLessThan(GROWTH);
  const fromZero = stage.app.sandboxes.attach(stage.handle, id).then((attached) => attached.drain());
  expect(await fromZero.catch(words)).toMatchObject({ code: 'truncated' });
  const tail = await digest(await stage.app.sandboxes.attach(stage.handle, id, { from: 'now' }));
  expect(tail.exit).toEqual({ exitCode: 3 });
}, 120_000);

test('bug 77: 1 500 attaches to one session at once are served or refused by name, and all is given back', async () => {
  const command = await stage.spawnSh('read go; echo said; exit 4', { stdin: true, detachable: true });
  const before = stage.app.gateway.stats();
  const outcomes = await Promise.all(
    Array.from({ length: 1_500 }, async () => {
      try {
        const attached = await stage.app.sandboxes.attach(stage.handle, command.sessionId as string);
        return attached;
      } catch (error) {
        return JSON.stringify(words(error));
      }
    }),
  );
  const refused = outcomes.filter((outcome) => typeof outcome === 'string');
  expect(new Set(refused)).toEqual(new Set(['{"code":"unavailable","detail":"session_limit","effect":"none"}']));
  const ends = outcomes.flatMap((outcome) => (typeof outcome === 'string' ? [] : [digest(outcome)]));
  expect(refused.length + ends.length).toBe(1_500);
  await command.writeStdin('go\n');
  const exits = (await Promise.all(ends)).map(({ stdout, exit }) => `${stdout.bytes} ${exit.exitCode}`);
  expect(new Set(exits)).toEqual(new Set(['5 4']));
  expect(await command.drain()).toEqual({ exitCode: 4 });
  await until('the session is forgotten', () => stage.app.gateway.stats().sessions < before.sessions);
  expect(stage.app.gateway.stats()).toMatchObject({ pendingRequests: 0, unsentRequests: 0, queuedBytes: 0 });
});
