// An emulator in a process of its own, as a provider is.
import type { Call } from 'nestjs-sandbox/emulators';
import { answer } from '../helper.js';
import type { Access, Emulated } from './provider.js';
import { hostedProvider } from './providers.js';

export type EmulatorQuestion =
  | { readonly op: 'start'; readonly provider: string }
  /** What was called since the last time, in words where `names` of the sandbox and random ids say only that. */
  | { readonly op: 'calls'; readonly names: readonly string[] };

export interface EmulatorCalls {
  readonly calls: readonly string[];
}

let emulator: Emulated | undefined;

answer(
  async (asked): Promise<Access | EmulatorCalls> => {
    const question = asked as EmulatorQuestion;
    if (question.op === 'start') {
      emulator = await hostedProvider(question.provider).startEmulator();
      return { url: emulator.url, key: emulator.key };
    }
    const calls = emulator?.calls.all.map((call) => shapeOf(call, question.names)) ?? [];
    emulator?.calls.clear();
    return { calls };
  },
  async () => emulator?.close(),
);

/** Method, path, query and how much was sent, without what differs from one command to the next. */
function shapeOf(call: Call, names: readonly string[]): string {
  const { method, path, query, upgrade } = call;
  const named = `${sizeOf(call)} bytes, ${upgrade ? 'WebSocket' : method} ${path}?${new URLSearchParams(query).toString()}`;
  return names
    .reduce((text, name) => text.replaceAll(name, ':box'), named)
    .replaceAll(/[0-9a-f]{32}/g, ':nonce')
    .replaceAll(/(?<=\/)\d+(?=[/?])/g, ':pid');
}

/** One more digit of a process id is no difference. */
function sizeOf({ json, bodyBytes }: Call): number {
  return json === undefined ? bodyBytes : JSON.stringify(json).replaceAll(/"pid":\d+/g, '"pid":0').length;
}
