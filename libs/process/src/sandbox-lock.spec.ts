import { expect, test } from '@jest/globals';
import { SandboxLock } from './sandbox-lock.js';

function gate(): { readonly opened: Promise<void>; open(): void } {
  let open!: () => void;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

const settle = async () => await new Promise((resolve) => setImmediate(resolve));

test('what is shared runs together, what is exclusive alone and in order', async () => {
  const lock = new SandboxLock();
  const log: string[] = [];
  const gates = new Map(['s1', 's2', 'x1', 'x2', 's3'].map((name) => [name, gate()]));
  const work = (name: string) => async () => {
    log.push(`+${name}`);
    await gates.get(name)!.opened;
    log.push(`-${name}`);
  };
  const all = [
    lock.shared(work('s1')),
    lock.shared(work('s2')),
    lock.exclusive(work('x1')),
    lock.exclusive(work('x2')),
  ];
  all.push(lock.shared(work('s3')));
  for (const name of ['s2', 's1', 'x1', 'x2', 's3']) {
    await settle();
    gates.get(name)!.open();
  }
  await Promise.all(all);
  expect(log).toEqual(['+s1', '+s2', '-s2', '-s1', '+x1', '-x1', '+x2', '-x2', '+s3', '-s3']);
});

test('during a destroy, waiting or under way, what is shared is refused', async () => {
  const lock = new SandboxLock();
  const busy = gate();
  const running = lock.shared(async () => await busy.opened);
  const waiting = lock.exclusive(async () => {});
  const early = lock.shared(async () => {}).catch((error: unknown) => error);
  const destroyed = lock.destroying(async () => {});
  const late = lock.shared(async () => {}).catch((error: unknown) => error);
  busy.open();
  await Promise.all([running, waiting, destroyed]);
  expect([await early, await late]).toEqual([
    expect.objectContaining({ code: 'not_found' }),
    expect.objectContaining({ code: 'not_found' }),
  ]);
  expect(await lock.shared(async () => 'again')).toBe('again');
});

test('a failure is the caller’s alone', async () => {
  const lock = new SandboxLock();
  const failing = async () => {
    throw new Error('no');
  };
  await expect(lock.exclusive(failing)).rejects.toThrow('no');
  await expect(lock.destroying(failing)).rejects.toThrow('no');
  await expect(lock.shared(failing)).rejects.toThrow('no');
  expect(await lock.exclusive(async () => 1)).toBe(1);
});
