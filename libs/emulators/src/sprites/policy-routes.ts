import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Refusal } from '../kit/answer.js';
import type { EmulatorServer } from '../kit/emulator-server.js';
import { pause } from '../kit/pause.js';
import type { Fleet } from './fleet.js';
import type { PolicyRule } from './sprite.js';
import { enterVm, VM_HEADERS } from './vm.js';

const POLICY = '/v1/sprites/:name/policy/network';
const DOMAIN = /^(?:\*|(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)$/i;

/** The rules are kept, not enforced. */
export function addPolicyRoutes(server: EmulatorServer, fleet: Fleet): void {
  server.route('GET', POLICY, async (exchange) => {
    const { sprite, leave } = await enterVm(fleet, exchange);
    const json = { rules: sprite.policy };
    await exchange.reply({ status: 200, headers: VM_HEADERS, json }).finally(leave);
  });

  server.route('POST', POLICY, async (exchange) => {
    const { sprite, leave } = await enterVm(fleet, exchange);
    try {
      const rules = rulesOf(await exchange.json());
      await pause(sprite.settings.policyDelayMs, exchange.closing);
      // The view of it that a sprite has.
      const view = sprite.disk.locate('/.sprite/policy/network.json');
      await sprite.change(async () => {
        await mkdir(dirname(view), { recursive: true });
        await writeFile(view, JSON.stringify({ rules }));
      });
      sprite.policy = rules;
      const status = sprite.settings.alternatives.policyStatus;
      await exchange.reply({ status, headers: VM_HEADERS, ...(status === 200 && { json: { rules } }) });
    } finally {
      leave();
    }
  });
}

/** @throws {Refusal} 400, with plain text */
function rulesOf(body: unknown): PolicyRule[] {
  const { rules } = Object(body ?? {}) as { readonly rules?: unknown };
  if (!Array.isArray(rules)) throw invalid('rules must be an array');
  return rules.map((rule: unknown) => {
    const { domain, action, include } = Object(rule) as Record<string, unknown>;
    if (include !== undefined) {
      if (include !== 'defaults' || domain !== undefined || action !== undefined) throw invalid('bad include');
      return { include };
    }
    if (typeof domain !== 'string' || !DOMAIN.test(domain)) throw invalid('bad domain');
    if (action !== 'allow' && action !== 'deny') throw invalid('bad action');
    return { domain, action };
  });
}

function invalid(why: string): Refusal {
  return new Refusal({ status: 400, headers: VM_HEADERS, text: `invalid policy: ${why}\n` });
}
