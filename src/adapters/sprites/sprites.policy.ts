import type { NetworkPolicy } from '#libs/contract';
import { setTimeout as delay } from 'node:timers/promises';
import type { Deadline } from '../common/deadline.js';
import { mayHaveActed, unconfirmed } from '../common/failed-answer.js';
import { asObject } from '../common/json.js';
import { spritePath, type SpritesClient } from './sprites.client.js';
import { answerError, malformedReply } from './sprites.errors.js';

/** A sprite that boots answers late. */
export const POLICY_TIMEOUT_MS = 90_000;

const READ_BACKS = 5;

/**
 * Rules for exactly these hosts. The service lets everything pass where there is no rule, so what is not allowed is
 * denied by a rule of its own.
 */
function rulesFor({ allow }: NetworkPolicy): { domain: string; action: 'allow' | 'deny' }[] {
  const domains = [...new Set(allow.map((host) => host.toLowerCase()))];
  const rules = domains.map((domain) => ({ domain, action: 'allow' as const }));
  return domains.includes('*') ? rules : [...rules, { domain: '*', action: 'deny' }];
}

/** Sets a policy, and reads it back until it is the one in force. */
export async function applyPolicy(
  client: SpritesClient,
  name: string,
  policy: NetworkPolicy,
  deadline: Deadline,
): Promise<void> {
  const path = spritePath(name, 'policy', 'network');
  const rules = rulesFor(policy);
  const answer = await client.sendAgain({
    method: 'POST',
    path,
    json: { rules },
    deadline,
  });
  if (!answer.ok) throw answerError(answer);
  const wanted = keyOf(rules);
  for (let attempt = 1; ; attempt += 1) {
    if (keyOf(await rulesInForce(client, path, deadline).catch(mayHaveActed)) === wanted) return;
    if (attempt === READ_BACKS) throw unconfirmed('the network policy');
    const waitMs = client.options.retryBaseMs * attempt;
    await delay(waitMs, undefined, { signal: deadline.signal }).catch(() => {
      throw deadline.error('unknown');
    });
  }
}

async function rulesInForce(client: SpritesClient, path: string, deadline: Deadline): Promise<readonly unknown[]> {
  const answer = await client.sendAgain({ method: 'GET', path, deadline });
  if (!answer.ok) throw answerError(answer);
  const rules = asObject(answer.json())?.['rules'];
  if (!Array.isArray(rules)) throw malformedReply('the network policy');
  return rules;
}

/** Rules in any order. */
function keyOf(rules: readonly unknown[]): string {
  const lines = rules.map((rule) => {
    const { domain, action, ...others } = asObject(rule) ?? {};
    return JSON.stringify([typeof domain === 'string' ? domain.toLowerCase() : domain, action, others]);
  });
  return lines.toSorted().join('\n');
}
