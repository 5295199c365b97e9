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
  readonly calls: readonly CallShape[];
}

/** What a call asks for, in words that the same call has whoever makes it. */
export interface CallShape {
  readonly words: string;
  readonly isPoll: boolean;
}

const NONCE = /[0-9a-f]{32}/g;

let emulator: Emulated | undefined;
let isPoll: (call: Call) => boolean = () => false;

answer(
  async (asked): Promise<Access | EmulatorCalls> => {
    const question = asked as EmulatorQuestion;
    if (question.op === 'start') {
      const provider = hostedProvider(question.provider);
      isPoll = (call) => provider.isPoll?.(call) ?? false;
      emulator = await provider.startEmulator();
      return { url: emulator.url, key: emulator.key };
    }
    const calls = emulator?.calls.all.map((call) => shapeOf(call, question.names)) ?? [];
    emulator?.calls.clear();
    return { calls };
  },
  async () => emulator?.close(),
);

/** Method, path, query and how much was sent, without what differs from one command to the next. */
function shapeOf(call: Call, names: readonly string[]): CallShape {
  const { method, path, query, upgrade } = call;
  const named = `${sizeOf(call)} bytes, ${upgrade ? 'WebSocket' : method} ${path}?${new URLSearchParams(query).toString()}`;
  const words = names
    .reduce((text, name) => text.replaceAll(name, ':box'), named)
    .replaceAll(NONCE, ':nonce')
    .replaceAll(/(?<=\/)\d+(?=[/?])/g, ':pid');
  return { words, isPoll: isPoll(call) };
}

/** One more digit of a process id is no difference, nor is one of where a poll goes on. */
function sizeOf(call: Call): number {
  const { json, bodyBytes } = call;
  if (json === undefined) return bodyBytes;
  const text = JSON.stringify(json).replaceAll(/"pid":\d+/g, '"pid":0');
  return isPoll(call) ? text.replaceAll(NONCE, ':nonce').replaceAll(/\d+/g, '0').length : text.length;
}
