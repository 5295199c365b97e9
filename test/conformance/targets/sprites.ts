import { randomUUID } from 'node:crypto';
import { shellWords } from '#libs/conformance';
import {
  EXEC_FAULTS,
  SpritesEmulator,
  type SpritesAlternatives,
  type SpritesEmulatorOptions,
  type StreamRewrite,
} from '#libs/emulators';
import { SpritesAdapter, SpritesOptions } from '../../../src/adapters/sprites/index.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { hostedFaults, requestCounter } from './hosted-faults.js';
import type { Target } from './target.js';

const STDOUT = 1;
const STDERR = 2;
const EXIT = 3;

/** The adapter for Fly Sprites over the emulator, whose pages hold two names. */
export async function openSprites(alternatives: Partial<SpritesAlternatives> = {}): Promise<Target> {
  const options: Partial<SpritesEmulatorOptions> = { pageSize: 2, alternatives };
  const emulator = await SpritesEmulator.start(options);
  const proxy = await TcpProxy.listen(Number(new URL(emulator.url).port));
  const client = (): SpritesAdapter =>
    new SpritesAdapter(
      new SpritesOptions({
        token: emulator.token,
        baseUrl: proxy.url,
        retryBaseMs: 10,
        checkpointCreationEnabled: true,
      }),
    );
  return {
    subject: {
      name: 'sprites',
      adapter: client(),
      words: shellWords,
      newName: () => `box-${randomUUID().slice(0, 8)}`,
      tells: { signals: false, startErrors: true, stderrApart: (alternatives.stderrStream ?? 'own') === 'own' },
      insight: {
        anotherClient: () => Promise.resolve({ adapter: client(), close: () => Promise.resolve() }),
        requestCount: requestCounter(emulator.faults),
        egress: ({ name }) => Promise.resolve(egressOf(emulator, name)),
        leftovers: () => Promise.resolve(emulator.names.map((name) => `the sprite ${name}`)),
      },
      faults: hostedFaults({
        proxy,
        faults: emulator.faults,
        requests: {
          create: { method: 'POST', path: '/v1/sprites' },
          createNew: { method: 'POST', path: '/v1/sprites' },
          get: { method: 'GET', path: '/v1/sprites/:name' },
          destroy: { method: 'DELETE', path: '/v1/sprites/:name' },
          listAllNames: { method: 'GET', path: '/v1/sprites' },
          suspend: { method: 'GET', path: '/v1/sprites/:name' },
          writeFile: { method: 'PUT', path: '/v1/sprites/:name/fs/write' },
          exec: { path: '/v1/sprites/:name/exec', upgrade: true },
          spawn: { path: '/v1/sprites/:name/exec', upgrade: true },
          attach: { method: 'GET', path: '/v1/sprites/:name/exec*' },
          listSessions: { method: 'GET', path: '/v1/sprites/:name/exec*' },
          terminateSession: { method: 'POST', path: '/v1/sprites/:name/exec/:id/kill' },
        },
        output: { path: '/v1/sprites/:name/exec*', upgrade: true },
        laterPage: {
          method: 'GET',
          path: '/v1/sprites',
          where: ({ query }) => query.has('continuation_token'),
        },
        cut,
        withoutExit: () => EXEC_FAULTS.endsWithoutExit(1000),
        trailing: () => trailing,
      }),
    },
    [Symbol.asyncDispose]: async () => {
      await proxy.close();
      await emulator.close();
    },
  };
}

/** What the rules of a sprite let it reach. */
function egressOf(emulator: SpritesEmulator, name: string): readonly string[] | undefined {
  const rules = emulator.sprite(name)?.policy ?? [];
  if (rules.length === 0) return undefined;
  return rules.flatMap(({ domain, action }) => (domain !== undefined && action === 'allow' ? [domain] : []));
}

function cut(bytes: number): StreamRewrite {
  let left = bytes;
  return (step) => {
    if (!('data' in step) || !step.binary || (step.data[0] !== STDOUT && step.data[0] !== STDERR)) return [step];
    const size = step.data.byteLength - 1;
    if (size < left) {
      left -= size;
      return [step];
    }
    return [{ data: step.data.subarray(0, 1 + left), binary: true }, { close: 1006 }];
  };
}

const trailing: StreamRewrite = (step) => {
  const isExit = 'data' in step && step.binary && step.data[0] === EXIT;
  return isExit ? [step, { data: Buffer.from([STDOUT, 120]), binary: true }, step] : [step];
};
