import {
  DaytonaEmulator,
  type CallMatch,
  type DaytonaAlternatives,
  type StreamRewrite,
  type StreamStep,
} from '#libs/emulators';
import { DaytonaAdapter, DaytonaOptions } from '../../../src/adapters/daytona/index.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { hostedTarget } from './hosted.js';
import type { Target } from './target.js';

/** A program that runs in a sandbox, by what it is for. */
function errand(...purposes: readonly string[]): CallMatch {
  const agents = new Set(purposes.map((purpose) => `nestjs-sandbox (${purpose})`));
  return {
    method: 'POST',
    path: '/toolbox/:id/process/execute',
    where: ({ headers }) => agents.has(headers['user-agent'] ?? ''),
  };
}

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
  // A fault of it strikes at the first answer that holds what it is for.
  const output = Object.assign(errand('start', 'read'), { times: Infinity });
  return hostedTarget({
    name: 'daytona',
    emulator,
    proxy,
    client,
    egress: (name) => egressOf(emulator, name),
    leftovers: () => emulator.names.map((name) => `the sandbox ${name}`),
    faults: {
      requests: {
        create: { method: 'POST', path: '/api/sandbox' },
        createNew: { method: 'POST', path: '/api/sandbox' },
        get: { method: 'GET', path: SANDBOX },
        destroy: { method: 'DELETE', path: SANDBOX },
        listAllNames: { method: 'GET', path: '/api/sandbox' },
        suspend: { method: 'POST', path: `${SANDBOX}/stop` },
        resume: { method: 'POST', path: `${SANDBOX}/start` },
        writeFile: errand('place'),
        exec: errand('start'),
        spawn: errand('start'),
        attach: errand('read'),
        listSessions: errand('list'),
        terminateSession: errand('stop'),
        readFile: { method: 'GET', path: /\/files\/download$/ },
        statFile: { method: 'GET', path: /\/files\/info$/ },
        listFiles: { method: 'GET', path: /\/files$/ },
        applyNetworkPolicy: { method: 'POST', path: `${SANDBOX}/network-settings` },
      },
      output,
      laterPage: { method: 'GET', path: '/api/sandbox', where: ({ query }) => query.has('cursor') },
      cut,
      withoutExit,
      trailing,
      repeating,
    },
  });
}

const DELAYS = { create: 5, start: 5, stop: 5, destroy: 5 } as const;

function replacing(text: string, by: string): StreamRewrite {
  return (step: StreamStep) => {
    if (!('data' in step)) return [step];
    return [{ ...step, data: Buffer.from(step.data.toString().replaceAll(text, by)) }];
  };
}

/** Changes the lines that a program printed, of the first answer whose lines are those; the others pass. */
function onLines(
  isMeant: (line: string) => boolean,
  change: (lines: readonly string[]) => { readonly lines: readonly string[]; readonly isCut?: boolean },
): StreamRewrite {
  let hasStruck = false;
  return (step) => {
    if (!('data' in step) || hasStruck) return [step];
    const { result, ...rest } = JSON.parse(step.data.toString()) as { result: string };
    const lines = result.split('\n');
    if (!lines.some(isMeant)) return [step];
    const changed = change(lines);
    const body = JSON.stringify({ ...rest, result: changed.lines.join('\n') });
    hasStruck = true;
    if (changed.isCut) return [{ ...step, data: Buffer.from(body.slice(0, -2)) }, { close: 1006 }];
    return [{ ...step, data: Buffer.from(body) }];
  };
}

const HEADER = /^@[oe] \d+ \d+$/;
const EXIT = /^@x /;

/** The answer breaks behind so many bytes of output, a line more or less. */
function cut(bytes: number): StreamRewrite {
  let left = bytes;
  return onLines(
    (line) => HEADER.test(line) || EXIT.test(line),
    (lines) => {
      const end = lines.findIndex((line) => {
        if (line.startsWith('@')) return EXIT.test(line);
        left -= Buffer.byteLength(line, 'base64');
        return left < 0;
      });
      return { lines: lines.slice(0, end), isCut: true };
    },
  );
}

/** The answer is whole but for the exit. */
function withoutExit(): StreamRewrite {
  return onLines(
    (line) => EXIT.test(line),
    (lines) => ({ lines: lines.filter((line) => !EXIT.test(line)) }),
  );
}

/** Every piece of output comes twice. */
function repeating(): StreamRewrite {
  return onLines(
    (line) => HEADER.test(line),
    (lines) => {
      const blocks: string[][] = [];
      for (const line of lines) {
        if (line.startsWith('@')) blocks.push([line]);
        else blocks.at(-1)?.push(line);
      }
      return { lines: blocks.flatMap((block) => (HEADER.test(block[0] ?? '') ? block.concat(block) : block)) };
    },
  );
}

/** Behind the exit come bytes that were never written, and another exit. */
function trailing(): StreamRewrite {
  return onLines(
    (line) => EXIT.test(line),
    (lines) => ({
      lines: lines.flatMap((line) => {
        const [, , stdout, stderr] = EXIT.test(line) ? line.split(' ') : [];
        if (stdout === undefined) return [line];
        const end = Number(stdout);
        return [line, `@o ${end} 4`, Buffer.from('late').toString('base64'), `@x 9 ${end + 4} ${stderr} -`];
      }),
    }),
  );
}

/** `undefined`: all. */
function egressOf(emulator: DaytonaEmulator, name: string): readonly string[] | undefined {
  const { networkBlockAll, domainAllowList } = emulator.sandbox(name)?.network ?? {};
  if (!networkBlockAll) return undefined;
  return domainAllowList ? domainAllowList.split(',') : [];
}
