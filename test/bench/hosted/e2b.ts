import { randomBytes } from 'node:crypto';
import { E2bAdapter, E2bOptions } from 'nestjs-sandbox/e2b';
import { E2bEmulator } from 'nestjs-sandbox/emulators';
import { fromStdinWithin } from '../../../src/adapters/common/shim-start.js';
import { shimProgram } from '../../../src/adapters/common/shim.js';
import type { CommandByHand, HostedProvider } from './provider.js';
import { RecordReader } from './record-reader.js';

const ENVD_PORT = '49983';
const HEADER_BYTES = 5;

interface Sandbox {
  readonly sandboxID: string;
  readonly envdAccessToken?: string;
}

interface StreamMessage {
  readonly event?: {
    readonly start?: { readonly pid: number };
    readonly data?: { readonly stdout?: string };
  };
}

export const e2b: HostedProvider = {
  name: 'e2b',
  async startEmulator() {
    const emulator = await E2bEmulator.start();
    const { url, apiKey: key, calls } = emulator;
    return { url, key, calls, close: () => emulator.close() };
  },
  adapter: ({ url, key }) => new E2bAdapter(new E2bOptions({ baseUrl: url, sandboxUrl: url, apiKey: key })),
  async byHand({ url, key }, { name }) {
    const get = async <T>(path: string): Promise<T> =>
      (await (await fetch(`${url}${path}`, { headers: { 'x-api-key': key } })).json()) as T;
    const metadata = new URLSearchParams({ nestjs_sandbox_name: name }).toString();
    const [found] = await get<Sandbox[]>(`/v2/sandboxes?${new URLSearchParams({ metadata }).toString()}`);
    if (!found) throw new Error(`there is no sandbox ${name}`);
    const { sandboxID: id, envdAccessToken: token } = await get<Sandbox>(`/sandboxes/${found.sandboxID}`);
    const headers = {
      'connect-protocol-version': '1',
      'e2b-sandbox-id': id,
      'e2b-sandbox-port': ENVD_PORT,
      'accept-encoding': 'identity',
      ...(token !== undefined && { 'x-access-token': token }),
    };
    return (command) => run(url, headers, command);
  },
};

/**
 * `Start` gives a stream of JSON in envelopes with base64 in it; once it names the process, `SendInput` brings the shim.
 * The stream is read to its end, so that its connection can be used again, but nobody waits for that.
 */
async function run(url: string, common: Record<string, string>, command: CommandByHand): Promise<number> {
  const { as, cmd, args, take } = command;
  const nonce = randomBytes(16).toString('hex');
  const tag = `nestjs-sandbox:c:${nonce}`;
  const program = shimProgram({ nonce, cmd, args, env: [], stdin: false, detachable: false, soleReader: true });
  const title = [cmd, ...args].join(' ');
  const words = ['sh', '-c', fromStdinWithin(60), tag, title.length > 200 ? `${title.slice(0, 200)}…` : title];
  const headers = { ...common, 'content-type': 'application/connect+json', 'keepalive-ping-interval': '15' };
  const body = envelope({ process: { cmd: 'setsid', args: words }, tag, stdin: true });
  const response = await fetch(`${url}/process.Process/Start`, { method: 'POST', headers, body });
  if (response.status !== 200) throw new Error(`${as} was answered ${response.status}`);
  const input = async (pid: number): Promise<void> => {
    const stdin = Buffer.from(`${program}${tag}\n`).toString('base64');
    const sent = await fetch(`${url}/process.Process/SendInput`, {
      method: 'POST',
      headers: { ...common, 'content-type': 'application/json' },
      body: JSON.stringify({ process: { pid }, input: { stdin } }),
    });
    await sent.arrayBuffer();
    if (sent.status !== 200) throw new Error(`the shim was answered ${sent.status}`);
  };
  return new Promise<number>((resolve, reject) => {
    const reader = new RecordReader(take, resolve);
    const read = async (): Promise<void> => {
      for await (const { event } of messages(response.body as AsyncIterable<Uint8Array> | null)) {
        if (event?.start) input(event.start.pid).catch(reject);
        if (event?.data?.stdout !== undefined) reader.push(Buffer.from(event.data.stdout, 'base64'));
      }
      throw new Error('the stream ended before the exit');
    };
    read().catch(reject);
  });
}

function envelope(message: object): Buffer<ArrayBuffer> {
  const payload = Buffer.from(JSON.stringify(message));
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(payload.length, 1);
  return Buffer.concat([header, payload]);
}

async function* messages(body: AsyncIterable<Uint8Array> | null): AsyncGenerator<StreamMessage> {
  let rest = Buffer.alloc(0);
  for await (const piece of body ?? []) {
    rest = rest.length === 0 ? Buffer.from(piece) : Buffer.concat([rest, piece]);
    let at = 0;
    for (; rest.length - at >= HEADER_BYTES;) {
      const end = at + HEADER_BYTES + rest.readUInt32BE(at + 1);
      if (end > rest.length) break;
      yield JSON.parse(rest.toString('utf8', at + HEADER_BYTES, end)) as StreamMessage;
      at = end;
    }
    rest = rest.subarray(at);
  }
}
