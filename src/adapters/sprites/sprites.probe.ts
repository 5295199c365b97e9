import type { Exit } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { FirstWord } from '../common/first-word.js';
import { malformedWord } from '../common/journal-errors.js';
import { recordedExit } from '../common/journal-parser.js';
import { exitOf } from '../common/recorded-exit.js';
import { newNonce } from '../common/session-id.js';
import { parsed } from '../common/sh-process.js';
import { probeProgram, recordKillProgram } from '../common/shim.js';
import type { SpritesClient } from './sprites.client.js';
import { startProgram } from './sprites.start-process.js';

/** How a session stands, asked inside the sandbox. */
export type SessionState =
  | { readonly state: 'alive'; readonly pid: string }
  | { readonly state: 'ended'; readonly exit: Exit }
  | { readonly state: 'lost' }
  | { readonly state: 'unknown' };

export async function probeSession(
  client: SpritesClient,
  name: string,
  nonce: string,
  deadline: Deadline,
): Promise<SessionState> {
  const [word, ...values] = await ask(client, name, probeProgram(nonce), deadline);
  if (word === 'a') return { state: 'alive', pid: values[0] ?? '' };
  if (word === 'x') return { state: 'ended', exit: exitOf(recordedExit(values)) };
  if (word === 'l') return { state: 'lost' };
  if (word === 'n') return { state: 'unknown' };
  throw malformedWord();
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
