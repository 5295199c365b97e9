import { randomUUID } from 'node:crypto';
import { shellWords } from '#libs/conformance';
import { DaytonaEmulator, type DaytonaAlternatives, type StreamRewrite, type StreamStep } from '#libs/emulators';
import { DaytonaAdapter, DaytonaOptions } from '../../../src/adapters/daytona/index.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { hostedFaults, requestCounter } from './hosted-faults.js';
import type { Target } from './target.js';

const EXECUTE = { method: 'POST', path: '/toolbox/:id/process/execute' } as const;
const SANDBOX = '/api/sandbox/:sandbox';

/** The adapter for Daytona over the emulator, whose pages hold two sandboxes. */
export async function openDaytona(alternatives: Partial<DaytonaAlternatives> = {}): Promise<Target> {
  const emulator = await DaytonaEmulator.start({ pageSize: 2, delaysMs: DELAYS, alternatives });
  const server = new URL(emulator.url);
  const proxy = await TcpProxy.listen(Number(server.port));
  // The toolbox is on the same way as the control plane.
  emulator.faults.add({
    method: 'GET',
    path: /^\/api\/sandbox\/[^/]+(?:\/toolbox-proxy-url)?$/,
    times: Infinity,
    rewrite: replacing(server.origin, proxy.url),
  });
  const client = (): DaytonaAdapter =>
    new DaytonaAdapter(new DaytonaOptions({ apiKey: emulator.token, apiUrl: `${proxy.url}/api`, retryBaseMs: 10 }));
  return {
    subject: {
      name: 'daytona',
      adapter: client(),
      words: shellWords,
      newName: () => `box-${randomUUID().slice(0, 8)}`,
      tells: { signals: false, startErrors: true, stderrApart: true },
      insight: {
        anotherClient: () => Promise.resolve({ adapter: client(), close: () => Promise.resolve() }),
        requestCount: requestCounter(emulator.faults),
        egress: ({ name }) => Promise.resolve(egressOf(emulator, name)),
        leftovers: () => Promise.resolve(emulator.names.map((name) => `the sandbox ${name}`)),
      },
      faults: hostedFaults({
        proxy,
        faults: emulator.faults,
        requests: {
          create: { method: 'POST', path: '/api/sandbox' },
          createNew: { method: 'POST', path: '/api/sandbox' },
          get: { method: 'GET', path: SANDBOX },
          destroy: { method: 'DELETE', path: SANDBOX },
          listAllNames: { method: 'GET', path: '/api/sandbox' },
          suspend: { method: 'POST', path: `${SANDBOX}/stop` },
          resume: { method: 'POST', path: `${SANDBOX}/start` },
          writeFile: EXECUTE,
          exec: EXECUTE,
          spawn: EXECUTE,
          attach: EXECUTE,
          listSessions: EXECUTE,
          terminateSession: EXECUTE,
        },
        output: EXECUTE,
        laterPage: { method: 'GET', path: '/api/sandbox', where: ({ query }) => query.has('cursor') },
        cut: () => (step) => [step],
        withoutExit: () => (step) => [step],
        trailing: () => (step) => [step],
      }),
    },
    [Symbol.asyncDispose]: async () => {
      await proxy.close();
      await emulator.close();
    },
  };
}

const DELAYS = { create: 5, start: 5, stop: 5, destroy: 5 } as const;

function replacing(text: string, by: string): StreamRewrite {
  return (step: StreamStep) => {
    if (!('data' in step)) return [step];
    return [{ ...step, data: Buffer.from(step.data.toString().replaceAll(text, by)) }];
  };
}

/** `undefined`: all. */
function egressOf(emulator: DaytonaEmulator, name: string): readonly string[] | undefined {
  const { networkBlockAll, domainAllowList } = emulator.sandbox(name)?.network ?? {};
  if (!networkBlockAll) return undefined;
  return domainAllowList ? domainAllowList.split(',') : [];
}
