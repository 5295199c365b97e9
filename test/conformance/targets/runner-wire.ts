import type { INestApplicationContext } from '@nestjs/common';
import type { EventEmitter } from 'node:events';
import { RunnerWsAdapter } from '../../../src/runner/index.js';

/** One frame of version 1, either way. */
export interface WireFrame {
  readonly id?: number;
  readonly op?: string;
  readonly ok?: boolean;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly stream?: string;
  readonly session_id?: string;
  readonly data?: string;
  readonly offset?: number;
  readonly code?: number;
}

/** What stands on the wire and changes what passes. */
export interface WireFault {
  /** A request on its way to the daemon. What it returns is the daemon's answer, and the daemon sees nothing. */
  request?(frame: WireFrame, wire: Wire): WireFrame | undefined;
  /** A frame on its way to the platform. What arrives in its place; `undefined`: the frame as it came. */
  arriving?(frame: WireFrame, wire: Wire): readonly WireFrame[] | undefined;
}

/** The way between a platform and one daemon, as a fault sees it. */
export interface Wire {
  /** Resets the connection. Nothing arrives any more. */
  cut(): void;
  /** Ends the connection in good order. Nothing arrives any more. */
  close(): void;
}

interface Client extends EventEmitter {
  send(data: string, ...rest: unknown[]): void;
  close(code: number, reason: string): void;
  terminate(): void;
}

/**
 * Stands between the sockets of daemons and the platform, in the platform's process. Without a fault every frame passes
 * untouched, and requests are counted.
 */
export class RunnerWire {
  /** Requests that the platform sent, those included that a fault answered. */
  requests = 0;
  /** One at a time. */
  fault: WireFault | undefined;
  #stalled: (() => void)[] | undefined;

  /** The adapter of WebSockets for the application whose runners are to be watched. */
  adapter(app: INestApplicationContext): RunnerWsAdapter {
    const tap = (client: Client): void => this.#tap(client);
    return new (class extends RunnerWsAdapter {
      override bindClientConnect(server: unknown, callback: (...args: unknown[]) => void): void {
        super.bindClientConnect(server, (client: Client, ...rest: unknown[]) => {
          tap(client);
          callback(client, ...rest);
        });
      }
    })(app);
  }

  /** Nothing arrives until what this gives is called; then everything does, in order. */
  stall(): () => void {
    this.#stalled ??= [];
    return () => {
      const held = this.#stalled ?? [];
      this.#stalled = undefined;
      for (const arrive of held) arrive();
    };
  }

  #tap(client: Client): void {
    const send = client.send.bind(client);
    const emit = client.emit.bind(client);
    let dead = false;
    const end = (how: () => void): void => {
      dead = true;
      how();
    };
    const wire: Wire = {
      cut: () => end(() => client.terminate()),
      close: () => end(() => client.close(1001, 'the test closes')),
    };
    const arrive = (text: string | Buffer, ...rest: unknown[]): void => {
      const pass = (): void => {
        if (!dead) emit('message', Buffer.from(text), ...rest);
      };
      if (this.#stalled) this.#stalled.push(pass);
      else pass();
    };
    client.send = (data, ...rest) => {
      this.requests += 1;
      const answer = this.fault?.request && this.fault.request(JSON.parse(data) as WireFrame, wire);
      if (answer) setImmediate(() => arrive(JSON.stringify(answer), false));
      else send(data, ...rest);
    };
    client.emit = (event: string | symbol, ...args: unknown[]): boolean => {
      if (event !== 'message') return emit(event, ...args);
      if (dead) return true;
      const [data, ...rest] = args as [Buffer];
      const instead = this.fault?.arriving && this.fault.arriving(JSON.parse(data.toString()) as WireFrame, wire);
      if (instead) for (const frame of instead) arrive(JSON.stringify(frame), ...rest);
      else arrive(data, ...rest);
      return true;
    };
  }
}
