import type { NetworkPolicy } from '#libs/contract';
import type { Deadline } from '../common/deadline.js';
import { notProved, unconfirmed } from '../common/failed-answer.js';
import { asObject } from '../common/json.js';
import { sandboxPath } from './e2b.control.js';
import { answerError } from './e2b.errors.js';
import type { E2bMachine } from './e2b.machine.js';

const EVERYWHERE = '0.0.0.0/0';
/** A change of state is over by then. */
const ATTEMPTS = 8;

/** What the service is told. Of names it lets nothing pass without a rule that denies everything beneath them. */
function networkFor({ allow }: NetworkPolicy): Readonly<Record<string, unknown>> {
  const hosts = [...new Set(allow.map((host) => host.toLowerCase()))];
  if (hosts.includes('*')) return { allowOut: [], denyOut: [], allow_internet_access: true };
  return { allowOut: hosts, denyOut: [EVERYWHERE] };
}

/** Sets a policy in place of the one before, and reads it back. Only of a sandbox that runs: it is woken. */
export async function applyPolicy(machine: E2bMachine, policy: NetworkPolicy, deadline: Deadline): Promise<void> {
  const { control, id } = machine;
  const network = networkFor(policy);
  await control.retry(
    deadline,
    async () => {
      const answer = await control.sendAgain({
        method: 'PUT',
        path: sandboxPath(id, 'network'),
        json: network,
        deadline,
      });
      if (answer.ok) return;
      if (answer.status !== 404) throw answerError(answer);
      // It is paused, or changes its state, or is gone.
      await machine.wake(deadline);
      throw unconfirmed('the network policy').with({ effect: 'none' });
    },
    ATTEMPTS,
  );
  const sandbox = await control.find(id, deadline).catch(notProved('the network policy'));
  if (sandbox === undefined) throw machine.gone();
  const inForce = asObject(asObject(sandbox.raw)?.['network']) ?? {};
  const isSet = isSame(inForce['allowOut'], network['allowOut']) && isSame(inForce['denyOut'], network['denyOut']);
  const isShut = network['allow_internet_access'] === true && asObject(sandbox.raw)?.['allowInternetAccess'] === false;
  if (!isSet || isShut) {
    throw unconfirmed('the network policy');
  }
}

/** Empty lists may be left out. */
function isSame(found: unknown, wanted: unknown): boolean {
  const words = (list: unknown): string => (Array.isArray(list) ? list.map(String) : []).toSorted().join(' ');
  return words(found).toLowerCase() === words(wanted);
}
