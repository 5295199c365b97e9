import { E2B_STREAM_FAULTS, E2bEmulator, type E2bEmulatorOptions, type StreamRewrite } from '#libs/emulators';
import { JournalParser } from '../../../src/adapters/common/journal-parser.js';
import { E2bAdapter, E2bOptions } from '../../../src/adapters/e2b/index.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { hostedTarget } from './hosted.js';
import type { Target } from './target.js';

const HEADER_BYTES = 5;

/** The adapter for E2B over the emulator. */
export async function openE2b(options: Partial<E2bEmulatorOptions> = {}): Promise<Target> {
  const emulator = await E2bEmulator.start(options);
  const proxy = await TcpProxy.listen(Number(new URL(emulator.url).port));
  const client = (): E2bAdapter =>
    new E2bAdapter(
      new E2bOptions({
        apiKey: emulator.apiKey,
        baseUrl: proxy.url,
        sandboxUrl: proxy.url,
        domain: 'sandboxes.test',
        keepaliveSeconds: 1,
        retryBaseMs: 10,
      }),
    );
  return hostedTarget({
    name: 'e2b',
    emulator,
    proxy,
    client,
    egress: (name) => egressOf(emulator, name),
    leftovers: () => emulator.ids.map((id) => `the sandbox ${id}`),
    faults: {
      requests: {
        create: { method: 'POST', path: /^(?:\/v2)?\/sandboxes$/ },
        createNew: { method: 'POST', path: /^(?:\/v2)?\/sandboxes$/ },
        get: { method: 'GET', path: '/v2/sandboxes' },
        destroy: { method: 'DELETE', path: '/sandboxes/:id' },
        listAllNames: { method: 'GET', path: '/v2/sandboxes' },
        suspend: { method: 'POST', path: '/sandboxes/:id/pause' },
        resume: { method: 'POST', path: /\/connect$/ },
        writeFile: { method: 'POST', path: '/files' },
        // What starts is only a shell; what runs the command comes by its input.
        exec: { method: 'POST', path: '/process.Process/SendInput' },
        spawn: { method: 'POST', path: '/process.Process/SendInput' },
        attach: { method: 'POST', path: '/process.Process/Start' },
        listSessions: { method: 'POST', path: '/process.Process/List' },
        terminateSession: { method: 'POST', path: '/process.Process/Start' },
        readFile: { method: 'GET', path: '/files' },
        statFile: { method: 'POST', path: '/filesystem.Filesystem/Stat' },
        listFiles: { method: 'POST', path: '/filesystem.Filesystem/ListDir' },
        applyNetworkPolicy: { method: 'PUT', path: '/sandboxes/:id/network' },
      },
      output: { method: 'POST', path: '/process.Process/Start' },
      // Of all sandboxes, whatever their name.
      laterPage: {
        method: 'GET',
        path: '/v2/sandboxes',
        where: ({ query }) => !query.get('metadata')?.includes('_name='),
      },
      cut,
      withoutExit: () => withoutRecord,
      trailing: () => trailing,
    },
  });
}

/** What the policy of a sandbox lets it reach. */
function egressOf(emulator: E2bEmulator, name: string): readonly string[] | undefined {
  const views = emulator.ids.map((id) => emulator.sandbox(id));
  const network = views.find((view) => view?.metadata['nestjs_sandbox_name'] === name)?.network;
  return network?.denyOut?.includes('0.0.0.0/0') ? (network.allowOut ?? []) : undefined;
}

/** The output that an event carries. */
function outputOf(data: Buffer): Buffer | undefined {
  const { event } = JSON.parse(data.subarray(HEADER_BYTES).toString()) as { event?: { data?: { stdout?: string } } };
  return event?.data?.stdout === undefined ? undefined : Buffer.from(event.data.stdout, 'base64');
}

function eventOf(output: Buffer): Buffer {
  const payload = Buffer.from(JSON.stringify({ event: { data: { stdout: output.toString('base64') } } }));
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(payload.byteLength, 1);
  return Buffer.concat([header, payload]);
}

/** Behind the shim's word that the command runs, and so many bytes of its output. */
function cut(bytes: number): StreamRewrite {
  let [left, runs] = [bytes, false];
  const parser = new JournalParser((record) => {
    if (record.type === 'output') left -= record.data.byteLength;
    if (record.type === 'word' && record.word === 'r') runs = true;
  });
  return (step) => {
    const output = 'data' in step ? outputOf(step.data) : undefined;
    if (output === undefined) return [step];
    for (let at = 0; at < output.byteLength; at += 1) {
      parser.push(output.subarray(at, at + 1));
      if (runs && left <= 0) return [{ data: eventOf(output.subarray(0, at + 1)), binary: true }, { close: 1006 }];
    }
    return [step];
  };
}

/** Everything ends in good order, without the shim's word of the exit, and without that of the service. */
const withoutRecord: StreamRewrite = (step, index) => {
  const output = 'data' in step ? outputOf(step.data) : undefined;
  const at = output?.lastIndexOf('@x ') ?? -1;
  if (output === undefined || at === -1) return E2B_STREAM_FAULTS.noEnd(step, index);
  return at === 0 ? [] : [{ data: eventOf(output.subarray(0, at)), binary: true }];
};

/** More output, and the exit again, behind the exit. */
const trailing: StreamRewrite = (step) => {
  const output = 'data' in step ? outputOf(step.data) : undefined;
  const at = output?.lastIndexOf('@x ') ?? -1;
  if (output === undefined || at === -1) return [step];
  return [
    step,
    { data: eventOf(Buffer.from('@o 0 1\nx')), binary: true },
    { data: eventOf(output.subarray(at)), binary: true },
  ];
};
