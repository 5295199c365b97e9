import { randomBytes } from 'node:crypto';
import { SpritesEmulator } from 'nestjs-sandbox/emulators';
import { SpritesAdapter, SpritesOptions } from 'nestjs-sandbox/sprites';
import { WebSocket } from 'ws';
import { FROM_STDIN } from '../../../src/adapters/common/shim-start.js';
import { shimProgram } from '../../../src/adapters/common/shim.js';
import type { Access, CommandByHand, HostedProvider } from './provider.js';
import { RecordReader } from './record-reader.js';

/** First bytes of a frame. */
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

export const sprites: HostedProvider = {
  name: 'sprites',
  async startEmulator() {
    const emulator = await SpritesEmulator.start();
    const { url, token: key, calls } = emulator;
    return { url, key, calls, close: () => emulator.close() };
  },
  adapter: ({ url, key }) => new SpritesAdapter(new SpritesOptions({ baseUrl: url, token: key })),
  byHand:
    async (access, { name }) =>
    (command) =>
      run(access, name, command),
};

/** One socket: the shim goes out on stdin, its records come back, and the recorded exit ends it. */
function run({ url, key }: Access, name: string, { as, cmd, args, take }: CommandByHand): Promise<number> {
  const nonce = randomBytes(16).toString('hex');
  const tag = `nestjs-sandbox:c:${nonce}`;
  const once = as === 'exec';
  const program = shimProgram({ nonce, cmd, args, env: [], stdin: false, detachable: false, once, acknowledged: true });
  const title = [cmd, ...args].join(' ');
  const words = ['sh', '-c', FROM_STDIN, tag, title.length > 200 ? `${title.slice(0, 200)}…` : title];
  const target = new URL(`/v1/sprites/${name}/exec`, url.replace('http', 'ws'));
  target.search = new URLSearchParams([
    ...words.map((word): [string, string] => ['cmd', word]),
    ['tty', 'false'],
    ['stdin', 'true'],
    ['max_run_after_disconnect', once ? '1s' : '10s'],
  ]).toString();
  const socket = new WebSocket(target, { headers: { authorization: `Bearer ${key}` }, perMessageDeflate: false });
  return new Promise<number>((resolve, reject) => {
    const reader = new RecordReader(take, resolve);
    socket.on('open', () => socket.send(Buffer.from(`${String.fromCharCode(STDIN)}${program}${tag}\n`)));
    socket.on('message', (data: Buffer, isBinary) => {
      if (!isBinary || (data[0] !== STDOUT && data[0] !== STDERR)) return;
      try {
        reader.push(data.subarray(1));
      } catch (error) {
        reject(error);
      }
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the socket closed before the exit')));
  }).finally(() => socket.close(1000));
}
