import type { INestApplicationContext } from '@nestjs/common';
import type { EventEmitter } from 'node:events';
import { RunnerWsAdapter } from '../../../src/runner/index.js';
import type { RunnerWire } from './runner-wire.js';

interface Client extends EventEmitter {
  send(data: string, done?: () => void): void;
  close(code: number, reason: string): void;
  terminate(): void;
}

/** The adapter of WebSockets for an application whose runners are watched. */
export function tappedWsAdapter(app: INestApplicationContext, wire: RunnerWire): RunnerWsAdapter {
  return new (class extends RunnerWsAdapter {
    override bindClientConnect(server: unknown, callback: (...args: unknown[]) => void): void {
      super.bindClientConnect(server, (client: Client, ...rest: unknown[]) => {
        tapClient(client, wire);
        callback(client, ...rest);
      });
    }
  })(app);
}

function tapClient(client: Client, wire: RunnerWire): void {
  const send = client.send.bind(client);
  const emit = client.emit.bind(client);
  const tap = wire.tap({
    deliver: (text) => void emit('message', Buffer.from(text), false),
    cut: () => client.terminate(),
    close: () => client.close(1001, 'the test closes'),
  });
  client.send = (data, done) => {
    if (tap.sends(data)) send(data, done);
    else done?.();
  };
  client.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    if (event !== 'message') return emit(event, ...args);
    tap.arrives((args as [Buffer])[0].toString());
    return true;
  };
}
