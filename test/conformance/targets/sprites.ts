import {
  EXEC_FAULTS,
  SPRITES_ALTERNATIVES,
  SpritesEmulator,
  type CallMatch,
  type SpritesAlternatives,
  type SpritesEmulatorOptions,
  type StreamRewrite,
  type StreamStep,
} from '#libs/emulators';
import { JournalParser } from '../../../src/adapters/common/journal-parser.js';
import { SpritesAdapter, SpritesOptions } from '../../../src/adapters/sprites/index.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { hostedTarget } from './hosted.js';
import type { Target } from './target.js';

const STDOUT = 1;
const STDERR = 2;
const EXIT = 3;

/** A WebSocket to a process, new or not. */
const PROCESS: CallMatch = { path: /\/exec(?:\/|$)/, upgrade: true };

/** The adapter for Fly Sprites over the emulator, whose pages hold two names. */
export async function openSprites(
  alternatives: Partial<SpritesAlternatives> = {},
  subject = 'sprites',
): Promise<Target> {
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
  return hostedTarget({
    name: subject,
    emulator,
    proxy,
    client,
    egress: (name) => egressOf(emulator, name),
    leftovers: () => emulator.names.map((name) => `the sprite ${name}`),
    faults: {
      requests: {
        create: { method: 'POST', path: '/v1/sprites' },
        createNew: { method: 'POST', path: '/v1/sprites' },
        get: { method: 'GET', path: '/v1/sprites/:name' },
        destroy: { method: 'DELETE', path: '/v1/sprites/:name' },
        listAllNames: { method: 'GET', path: '/v1/sprites' },
        suspend: { method: 'GET', path: '/v1/sprites/:name' },
        writeFile: { method: 'PUT', path: '/v1/sprites/:name/fs/write' },
        exec: PROCESS,
        spawn: PROCESS,
        attach: PROCESS,
        listSessions: { method: 'GET', path: '/v1/sprites/:name/exec', upgrade: false },
        terminateSession: { method: 'POST', path: '/v1/sprites/:name/exec/:id/kill' },
        readFile: { method: 'GET', path: '/v1/sprites/:name/fs/read' },
        statFile: { method: 'GET', path: '/v1/sprites/:name/fs/list' },
        listFiles: { method: 'GET', path: '/v1/sprites/:name/fs/list' },
        applyNetworkPolicy: { method: 'POST', path: '/v1/sprites/:name/policy/network' },
      },
      output: PROCESS,
      laterPage: {
        method: 'GET',
        path: '/v1/sprites',
        where: ({ query }) => query.has('continuation_token'),
      },
      cut,
      withoutExit: () => withoutExit,
      trailing: () => trailing,
      lost: { exec: () => lost, spawn: () => lost },
    },
  });
}

/** As {@link openSprites}, with the second value of every alternative: none of them excludes another. */
export function openOtherSprites(): Promise<Target> {
  const second = Object.entries(SPRITES_ALTERNATIVES).map(([name, [, value]]) => [name, value] as const);
  return openSprites(Object.fromEntries(second) as Partial<SpritesAlternatives>, 'sprites_other');
}

/** What the rules of a sprite let it reach. */
function egressOf(emulator: SpritesEmulator, name: string): readonly string[] | undefined {
  const rules = emulator.sprite(name)?.policy ?? [];
  if (rules.length === 0) return undefined;
  return rules.flatMap(({ domain, action }) => (domain !== undefined && action === 'allow' ? [domain] : []));
}

/** The output that a step carries. */
function outputOf(step: StreamStep): Buffer | undefined {
  const isOutput = 'data' in step && step.binary && (step.data[0] === STDOUT || step.data[0] === STDERR);
  return isOutput ? step.data.subarray(1) : undefined;
}

function stepOf(output: Uint8Array): StreamStep {
  return { data: Buffer.concat([Buffer.of(STDOUT), output]), binary: true };
}

/** Behind the shim's word that the command runs, and so many bytes of its output. */
function cut(bytes: number): StreamRewrite {
  let [left, runs] = [bytes, false];
  const parser = new JournalParser((record) => {
    if (record.type === 'output') left -= record.data.byteLength;
    if (record.type === 'word' && record.word === 'r') runs = true;
  });
  return (step) => {
    const output = outputOf(step);
    for (const [at, byte] of (output ?? []).entries()) {
      parser.push(Buffer.of(byte));
      if (runs && left <= 0) return [stepOf(output!.subarray(0, at + 1)), { close: 1006 }];
    }
    return [step];
  };
}

/** Ends in good order in the place of the shim's word of the exit. */
const withoutExit: StreamRewrite = (step, index) => {
  const output = outputOf(step);
  const at = output?.lastIndexOf('@x ') ?? -1;
  if (output === undefined || at === -1) return EXEC_FAULTS.endsWithoutExit(1000)(step, index);
  return [...(at === 0 ? [] : [stepOf(output.subarray(0, at))]), { close: 1000 }];
};

/** More output, and the exit again, behind the exit: as the shim and as the service say it. */
const trailing: StreamRewrite = (step) => {
  const output = outputOf(step);
  const at = output?.lastIndexOf('@x ') ?? -1;
  if (output !== undefined && at !== -1) {
    return [step, stepOf(Buffer.from('@o 0 1\nx')), stepOf(output.subarray(at))];
  }
  const isExit = 'data' in step && step.binary && step.data[0] === EXIT;
  return isExit ? [step, stepOf(Buffer.from('x')), step] : [step];
};

/** The command runs to its end, and nothing of it arrives. */
const lost: StreamRewrite = (step) => {
  if (outputOf(step) !== undefined) return [];
  const isExit = 'data' in step && step.binary && step.data[0] === EXIT;
  return isExit ? [{ close: 1006 }] : [step];
};
