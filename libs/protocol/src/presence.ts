import type { RunnerLink, RunnerRegistry } from './link.js';

interface Runner {
  /** Whose word counts: a connection that was replaced has nothing more to say. */
  speaker: RunnerLink;
  /** Settles when everything said so far was taken. Never rejects. */
  said: Promise<void>;
}

const runners = new WeakMap<RunnerRegistry, Map<string, Runner>>();

/** Makes `link` the one that speaks for its runner, from what was said before on. */
export function takeTheFloor(registry: RunnerRegistry, link: RunnerLink): void {
  let known = runners.get(registry);
  if (!known) runners.set(registry, (known = new Map()));
  const runner = known.get(link.runnerId);
  if (runner) runner.speaker = link;
  else known.set(link.runnerId, { speaker: link, said: Promise.resolve() });
}

/** `link` has no more to say, and nobody here spoke after it. */
export function leaveTheFloor(registry: RunnerRegistry, link: RunnerLink): void {
  const known = runners.get(registry);
  if (known?.get(link.runnerId)?.speaker === link) known.delete(link.runnerId);
}

/**
 * Tells the registry's host about a runner, one announcement after the other, also over several connections.
 * Resolves when it was told, or when `link` does not speak for the runner; rejects as the host does.
 */
export async function announce(
  registry: RunnerRegistry,
  link: RunnerLink,
  state: 'online' | 'offline',
  meta: unknown,
): Promise<void> {
  const { runnerId } = link;
  if (state === 'online') takeTheFloor(registry, link);
  const runner = runners.get(registry)?.get(runnerId);
  if (runner?.speaker !== link) return;
  const told = runner.said.then(() => registry.presence(runnerId, state, meta));
  const said = told.catch(() => {});
  runner.said = said;
  try {
    await told;
  } finally {
    if (state === 'offline' && runner.said === said) leaveTheFloor(registry, link);
  }
}
