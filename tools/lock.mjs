// A lock between processes: a file that names its owner. Nothing is left locked by an owner that died.
import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';

const DEFAULTS = {
  /** Between two looks at a lock that somebody else holds. */
  pollMs: 200,
  /** Between two signs of life of the owner. */
  heartbeatMs: 2_000,
  /** Without a sign of life for so long, seen from here, an owner counts as dead. */
  silenceMs: 20_000,
};

/**
 * Runs `work` while no other process runs under the same `path`; `onWait` is called once if it has to wait.
 * The lock is released however `work` ends; a process that was killed loses it to the next one that asks.
 */
export async function withLock(path, work, { onWait = () => {}, ...options } = {}) {
  const times = { ...DEFAULTS, ...options };
  const mine = JSON.stringify({ pid: process.pid, host: hostname(), nonce: randomUUID() });
  await acquire(path, mine, times, onWait);
  const heartbeat = setInterval(() => touch(path), times.heartbeatMs);
  heartbeat.unref();
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    if (read(path) === mine) rmSync(path, { force: true });
  }
}

async function acquire(path, mine, times, onWait) {
  let seen = '';
  let since = 0;
  let waited = false;
  for (;;) {
    if (create(path, mine)) return;
    const owner = read(path);
    if (owner === undefined) continue;
    const sign = `${owner} ${modified(path)}`;
    if (sign !== seen) [seen, since] = [sign, performance.now()];
    // The clock here stands still while a machine sleeps, so that a lid that was closed makes nobody look dead.
    const silent = performance.now() - since > times.silenceMs;
    if ((silent || isDead(owner)) && takeOver(path, owner, mine)) return;
    if (!waited) onWait();
    waited = true;
    await delay(times.pollMs);
  }
}

/** A link appears at once with its content, so nobody ever reads half an owner. */
function create(path, content) {
  const draft = `${path}.${randomUUID()}`;
  writeFileSync(draft, content);
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/**
 * Only whoever holds the claim on a dead owner may replace it, and looks again while holding it: of two that find the
 * same dead owner, one gets the lock and the other sees a new owner.
 */
function takeOver(path, owner, mine) {
  const claim = `${path}.claim`;
  if (!create(claim, mine)) {
    const claimant = read(claim);
    if (claimant !== undefined && isDead(claimant)) rmSync(claim, { force: true });
    return false;
  }
  try {
    if (read(path) !== owner) return false;
    const draft = `${path}.${randomUUID()}`;
    writeFileSync(draft, mine);
    renameSync(draft, path);
    return true;
  } finally {
    rmSync(claim, { force: true });
  }
}

/** A pid says something only on the machine (or in the container) that gave it. */
function isDead(owner) {
  try {
    const { pid, host } = JSON.parse(owner);
    if (host !== hostname() || pid === process.pid) return false;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

function read(path) {
  return ifPresent(() => readFileSync(path, 'utf8'));
}

function modified(path) {
  return ifPresent(() => statSync(path).mtimeMs);
}

function touch(path) {
  const now = new Date();
  ifPresent(() => utimesSync(path, now, now));
}

function ifPresent(look) {
  try {
    return look();
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}
