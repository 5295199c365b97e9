import type { Deadline } from '../common/deadline.js';
import { FirstWord } from '../common/first-word.js';
import { malformedWord } from '../common/journal-errors.js';
import { newNonce } from '../common/session-id.js';
import { parsed } from '../common/sh-process.js';
import { probeProgram, recordKillProgram } from '../common/shim.js';
import type { SpritesClient } from './sprites.client.js';
import { startProgram } from './sprites.start-process.js';

/** How a session stands, asked inside the sandbox. */
export type SessionState =
  { readonly state: 'alive'; readonly pid: string } | { readonly state: 'ended' | 'lost' | 'unknown' };

const STATES: Readonly<Record<string, 'ended' | 'lost' | 'unknown'>> = { x: 'ended', l: 'lost', n: 'unknown' };

export async function probeSession(
  client: SpritesClient,
  name: string,
  nonce: string,
  deadline: Deadline,
): Promise<SessionState> {
  const [word = '', pid = ''] = await ask(client, name, probeProgram(nonce), deadline);
  if (word === 'a') return { state: 'alive', pid };
  const state = STATES[word];
  if (state === undefined) throw malformedWord();
  return { state };
}

/** Leaves the exit of a session whose group was killed, where it left none itself. */
export async function recordKill(
  client: SpritesClient,
  name: string,
  nonce: string,
  deadline: Deadline,
): Promise<void> {
  await ask(client, name, recordKillProgram(nonce), deadline);
}

/** The one word that a program says. */
async function ask(
  client: SpritesClient,
  name: string,
  program: string,
  deadline: Deadline,
): Promise<readonly string[]> {
  const first = new FirstWord({ record: () => {}, closed: () => {} });
  const spec = { name, program, kind: 'r', nonce: newNonce(), title: 'asks', lives: '1s' } as const;
  const process = await startProgram(client, spec, parsed(first), deadline);
  try {
    return await deadline.race(first.arrived, 'unknown');
  } finally {
    process.close();
  }
}
